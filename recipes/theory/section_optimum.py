"""Section 3 of the theory page: where PACS goes, for each period of resets."""

from typing import Any

from pacs.base.markdown import ABSENT, table
from recipes.theory.flow import CASES, PERIODS, RESULTS, SETTINGS, start, state
from recipes.theory.kept import read_runs
from recipes.theory.optimum import by_chance, minimum

FIGURE = "theory-flow.png"
FIXED = """\
## 3. Where PACS goes

### Labels of 0 and 1: there is no finite optimum, and the residual does not vanish

Proposition A.2 has the best policy as pi_ref * exp(logit q / beta), q the chance that a response is right. A
verifier's labels have q of 0 and 1, whose logit is infinite: no such policy is finite. What the sampled update (the
second term) leaves at rest is this.

**Fixed points.** Let the reference never be reset, all groups be kept, and the estimator be `rloo`. In a mixed group
the r of the right responses are pushed up in sum, and those of the wrong ones down; p went to 1 in each run below (that
it always does is not proved here). On the face p = 1 all groups are right. Their loss is -sum_i log sigmoid(psi_i) with
sum_i psi_i = 0. It is strictly convex in the differences of r, so by Jensen it is least, G log 2, where all psi are 0.
The expected update is the slope of that convex function with the sampler held fixed, and so vanishes at its least value
alone: inside the face r is the same at every right response, and the one fixed point is the reference given a right
response. There sigma(psi) is 1/2, the loss log 2 and every residual 1/2.

So it is not a vanishing residual that stops PACS at p = 1: the residuals of a group cancel. With groups of one class
dropped, nothing acts on the face, and each of its policies is a fixed point: how the right ones share the probability
is what the way there made of it. With w = 1/q the same holds, since q = 1 has w = 1 (not so with labels that are right
by chance: below). With K = 1 and one update a step
r is 0 whenever it is used, groups of one class do nothing, and the fixed points are those of a policy gradient.

**By enumeration.** 12 responses, 5 right, pass rate {p:.3f}, G = 2; the reference given a right response has an
entropy of {entropy:.3f} nats (log 5 is 1.609). Plain gradient descent on the logits by the expected update, learning
rate {lr:g}, {updates:,} updates (G = 4: {few:,}). Cells: entropy of the policy given a right response; KL from it to
the reference given one; pass rate. (`python -m recipes.theory flow`, kept in `recipes/theory/flow.json`.)
"""
READ = """
![Entropy given a right response against updates]({figure})

{says}
"""
SAYS = """\
- K = 1 is the policy gradient (largest difference {same}): the right response that is ahead gains most, and the
  entropy ({one:.3f}) was still falling.
- K = 20 falls, too, slowly ({twenty:.3f}), by what it drifts within each period; how far depends on K times the
  learning rate.
- K = 1,000 stays near the limit ({thousand:.3f}), and without any reset the limit is reached ({never:.4f}; KL at most
  {kl:.4f} over all rows with all groups). The pass rate without resets comes to 1 the most slowly ({rate:.4f}), so that
  the entropy of the whole policy ({entropy:.3f}) is still above.
- Without groups of one class nothing holds the proportions: {dropped:.2f} with no reset, still falling, and
  {dropped_thousand:.2f} at K = 1,000.
- The earlier look (.004 for a policy gradient and K = 1, .004 to .10 for K = 20, 1.44 to 1.54 for K = 1,000, 1.54 in
  the limit) is confirmed in its order, and in that a policy whose reference is not reset ends at the reference given a
  right response. Its K = 20 is not: with all groups kept the entropy falls far more slowly ({twenty:.2f}), with mixed
  groups alone it is {twenty_dropped:.3f} here, below its values.

With mixed groups alone the step is divided by their expected number, as in a batch so large that it has some: at p
near 1 a real batch has hardly any, and the fall takes as much longer. With G = 2 balanced weights are 1, so that the
balanced rows are those of no weights, too.
"""
FULL = """
### The minimum of the expected loss is not at p = 1

With both terms of Eq. 5, balanced, G = 2, no reset, the descent stops at p = {found:.4f}, with the right responses in
the proportions of the reference (KL {kl:.4f}) and a loss of {loss:.4f}. That is where, with classes in the
reference's proportions,

    E[L](p) = (p^2 + (1-p)^2) log 2 + 2 p (1-p) log(1 + exp(-(logit p - logit p_ref)))

is least: {pass_rate:.4f} for p_ref = {p_ref:.4f}. So the objective as written does not ask for a pass rate of 1. That
PACS gets there is due to the first term being left out. `method.policy_gradient_term=true` with a rare reset is to be
expected to stop early.
"""
CHANCE = """
### Labels that a policy cannot predict: a finite optimum, which is weak

Let response o be right with a chance q(o) from 0.1 to 0.9 (12 responses, w = 1, G = 2). A label that the policy's
features do not decide is, to the policy, of that kind. The loss of a pair is least where

    sigma(r_a - r_b) = (1 + q_a - q_b) / 2

and not where r is logit q: with labels that differ by chance, RLOO's score is compared with R_a, and R_b is not known
to it. (With w = 1/q a mixed pair counts twice, which moves that point out: with q of 0.9 and 0.3 to 0.861, from 0.800.)
Pairs do not agree, and the fixed point is a compromise. "Tilt" is the slope of log pi/pi_ref against logit q,
which Proposition A.2 has as 1/beta.
"""
CHANCE_READ = """
Never reset, PACS stops far below the best response. A smaller beta moves that point out; a reset starts again from
there, and so removes it. K = 20 goes on to the best response.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, CASES)["runs"]
    first = state(start()[None], start())
    before = {"p": float(first.pass_rate), "entropy": float(first.right_entropy), "lr": SETTINGS["lr"]}
    introduction = FIXED.format(**before, updates=SETTINGS["updates"][-1], few=SETTINGS["updates_of_4"][-1])
    rows = [[name, *(_cell(kept[name], str(period)) for period in PERIODS)] for name in CASES]
    both, p_ref = minimum(), float(first.pass_rate)
    full = FULL.format(
        found=float(both.found.pass_rate),
        kl=abs(float(both.found.kl)),
        loss=both.loss,
        pass_rate=both.pass_rate,
        p_ref=p_ref,
    )
    chances = {"never, beta 1": (1.0, None), "never, beta 0.25": (0.25, None), "K = 20, beta 1": (1.0, 20)}
    lines = []
    for name, (beta, period) in chances.items():
        found = by_chance(beta, period)
        lines.append([name, f"{found.before:.3f}", f"{found.after:.3f}", f"{found.gibbs:.3f}", f"{found.tilt:.2f}"])
    columns = ["mean q of", "reference", "PACS, 1,000 updates", "Proposition A.2's policy", "tilt"]
    return "\n".join(
        [
            introduction,
            table(["entropy; KL; p", *(_heading(period) for period in PERIODS)], rows),
            READ.format(figure=FIGURE, says=_says(kept)),
            full,
            CHANCE,
            table(columns, lines),
            CHANCE_READ,
        ]
    )


def _heading(period: int | None) -> str:
    return "never" if period is None else f"K = {period:,}"


def _cell(found: dict[str, Any], period: str) -> str:
    if period not in found:
        return ABSENT
    entropy, kl, rate = (found[period][name][-1] for name in ("right_entropy", "kl", "pass_rate"))
    return f"{abs(entropy):.3f}; {abs(kl):.3f}; {rate:.4f}"


def _says(kept: dict[str, Any]) -> str:
    """What the table says, with its numbers."""

    def last(case: str, period: str, measure: str = "right_entropy") -> float:
        return abs(float(kept[case][period][measure][-1]))

    balanced, mixed = "balanced, all groups", "balanced, mixed groups alone"
    same = max(
        abs(a - b)
        for measure in ("pass_rate", "right_entropy")
        for a, b in zip(kept[balanced]["1"][measure], kept["policy gradient (RLOO)"]["1"][measure], strict=True)
    )
    return SAYS.format(
        same=f"{same:.0e}" if same else "0",
        one=last(balanced, "1"),
        twenty=last(balanced, "20"),
        thousand=last(balanced, "1000"),
        never=last(balanced, "None"),
        kl=max(last(case, "None", "kl") for case in CASES if "all groups" in case),
        twenty_dropped=last(mixed, "20"),
        dropped=last(mixed, "None"),
        dropped_thousand=last(mixed, "1000"),
        entropy=float(kept[balanced]["None"]["entropy"][-1]),
        rate=float(kept[balanced]["None"]["pass_rate"][-1]),
    )
