"""Section 3 of the theory page: where PACS goes, for each period of resets."""

from typing import Any

from pacs.base.markdown import ABSENT, table
from recipes.theory.flow import CASES, PERIODS, RESULTS, SETTINGS, start, state
from recipes.theory.kept import read_runs
from recipes.theory.optimum import by_chance, minimum

FIGURE = "flow.png"
FIXED = """\
## 3. Where PACS goes

### Labels of 0 and 1: no finite optimum, and residuals that do not vanish

In Proposition A.2 the best policy is pi_ref * exp(logit q / beta), where q is the chance that a response
is right. With a verifier's labels q is 0 or 1, so no such policy is finite.

**Fixed points.** Let the reference never be reset, all groups be kept, and the estimator be `rloo`. In a
mixed group the update raises the sum of r over right responses, and lowers it over wrong ones. p went to
1 in each run below; that it always does is not proved here. At p = 1 the loss of a group is
-sum_i log sigmoid(psi_i) with sum_i psi_i = 0. It is strictly convex in the differences of r. By
Jensen its minimum, G log 2, is where all psi are 0. The expected update is its slope with the sampler held
fixed, and vanishes only there. So r is the same for every right response. The only fixed point is
the reference given a right response, where every residual is 1/2.

So PACS does not stop because residuals vanish, but because those of a group cancel. If single-class groups
are dropped, each policy at p = 1 is a fixed point, and the path decides how right responses share the
probability. With w = 1/q all this holds, too, since w = 1 for q = 1. With K = 1 and one update a step, r is 0
whenever it is used, and the fixed points are those of a policy gradient.

**By enumeration.** The table has gradient descent on the logits by the expected update: learning rate {lr:g},
{updates:,} updates, 12 responses, 5 right, pass rate {p:.3f}, G = 2 (`python -m recipes.theory flow`,
results in `recipes/theory/flow.json`). The reference given a right response has an entropy of
{entropy:.3f} nats. Cells: entropy of the policy given a right response; KL from it to the reference given
one; pass rate.
"""
READ = """
![Entropy given a right response against updates]({figure})

{says}
"""
SAYS = """\
- K = 1 is the policy gradient (largest difference {same}): the most probable right response gains most.
- K = 20 falls slowly, by its drift within each period, which depends on K times the learning rate.
- Without a reset the limit is reached ({never:.4f}; KL at most {kl:.4f} over all rows with all groups). Then the
  pass rate approaches 1 most slowly ({rate:.4f}).
- With mixed groups alone nothing keeps the proportions. Here the step is divided by the expected number of
  mixed groups. A real batch has hardly any at p near 1, so its entropy falls far more slowly.
- With G = 2 balanced weights are 1. With G = 4 the order is the same.
"""
FULL = """
### The minimum of the expected loss is not at p = 1

With both terms of Eq. 5, balanced, G = 2, no reset, the descent stops at p = {found:.4f}, with the
reference's proportions (KL {kl:.4f}) and a loss of {loss:.4f}. With classes in these proportions, the
expected loss is

    E[L](p) = (p^2 + (1-p)^2) log 2 + 2 p (1-p) log(1 + exp(-(logit p - logit p_ref)))

For p_ref = {p_ref:.4f} its minimum is at {pass_rate:.4f}. PACS reaches a pass rate of 1 because the first term
is left out. Expect `method.policy_gradient_term=true` with rare resets to stop early.
"""
CHANCE = """
### Labels that a policy cannot predict: a finite, weak optimum

Let response o be right with a chance q(o) from 0.1 to 0.9 (12 responses, w = 1, G = 2). Labels that the
policy's features do not decide are of this kind. The loss of a pair is least where

    sigma(r_a - r_b) = (1 + q_a - q_b) / 2

and not where r is logit q, because the score is compared with R_a and does not know R_b. Pairs disagree,
so the fixed point is a compromise. "Tilt" is the slope of log pi/pi_ref against logit q. In Proposition A.2
it is 1/beta.
"""
CHANCE_READ = """
Without resets PACS stops far below the best response. A smaller beta moves that point closer to it. K = 20
goes on to the best response.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, CASES)["runs"]
    first = state(start()[None], start())
    before = {"p": float(first.pass_rate), "entropy": float(first.right_entropy), "lr": SETTINGS["lr"]}
    introduction = FIXED.format(**before, updates=SETTINGS["updates"][-1])
    rows = [[name, *(_cell(kept[name], str(period)) for period in PERIODS)] for name in CASES if "G = 4" not in name]
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

    balanced = "balanced, all groups"
    same = max(
        abs(a - b)
        for measure in ("pass_rate", "right_entropy")
        for a, b in zip(kept[balanced]["1"][measure], kept["policy gradient (RLOO)"]["1"][measure], strict=True)
    )
    return SAYS.format(
        same=f"{same:.0e}" if same else "0",
        never=last(balanced, "None"),
        kl=max(last(case, "None", "kl") for case in CASES if "all groups" in case),
        rate=float(kept[balanced]["None"]["pass_rate"][-1]),
    )
