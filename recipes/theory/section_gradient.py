"""Sections 1 and 2 of the theory page: Eq. 5's two terms, and the mean and the variance of the sampled gradient."""

import math

from pacs.algorithm import Pacs
from pacs.algorithm.class_balance import Objective
from pacs.algorithm.scores import Estimator
from pacs.base.markdown import table
from recipes.theory.enumeration import log_softmax
from recipes.theory.equation5 import SIX, Along, along, case, dropped_bias, spread, terms
from recipes.theory.flow import start, state

OBJECTIVES: dict[str, Objective] = {"1": "pass_rate", "balanced": "log_odds", "1/q": "log_pass_rate"}
ESTIMATORS: tuple[Estimator, ...] = ("none", "rloo", "dr_grpo")
MARKS = (1, 20, 100, 300, 1000)
DISTANCES = (0.0, 1.0, 2.0)
#: Finite differences in float64 are no nearer than this.
NEAREST = 1e-9

TERMS = """\
## 1. Eq. 5 has two terms; a sampled batch has the second

For a group o_1 .. o_G sampled from pi, let L be the mean of its w_i l_i. The gradient of what PACS expects is

    d E[L] = E[ L * sum_i d log pi(o_i) ]  +  E[ dL ]
              first term: what is sampled       second term: how it is scored

Autograd of a sampled batch gives the second alone; that is PACS as it is trained. Both by enumeration of all groups
of six responses, three of them right, at a policy away from its reference. "Sum" is their sum against finite
differences of E[L] (order 4, relative); "option" is what `method.policy_gradient_term=true` adds, against the first
term (relative).
"""
OPTION = """
The option takes (1/G) sum_i w_i l_i d log pi(o_i): each response's loss times its own score function. That is the
first term where l_i and w_i depend on o_i alone. With a score that compares, or weights of the group, the loss of the
others depends on o_i as well, and the option leaves those products out: it is then an approximation, by as much as
the column says. The paper's derivation sets the comparison aside, and has no products to leave out.

Along a descent by the second term (12 responses, 5 right, G = 2, balanced, learning rate 1, beta 1), the norm of the
first term by that of the second, and the cosine between them. Both are taken after the update, with the reference that
the update had: with K = 1 one update from it, with K = 20 at the end of a period from update 20 on. (At the policies
that K = 1 updates all groups have a loss of log 2, and the first term is 0.)
"""
OPPOSED = """
The first term is small only near the reference. Where the reference is old it can be many times the second. It lowers
the expected loss by what is sampled: with classes in the reference's proportions, G = 2 and balanced weights, its slope
in the pass rate p is

    (2 - 4p) * (log(1 + exp(-(logit p - logit p_ref))) - log 2)

(with w = 1/q the bracket is 2 log(1 + ...) - log 2). Where something was learned, a mixed group's loss is below the log
2 of a group of one class, and the first term asks for more mixed groups: below p = 1/2 that is the way of the second
term, above it the opposite. This descent starts at p = {p:.2f}, so that the two are opposed throughout, as they come to
be on every prompt that is learned beyond 1/2. Section 3 has where it ends. (In the table on top the policy is below its
reference, p = {low:.2f} and p_ref = {high:.2f}: there mixed groups cost more than log 2, and the terms agree.)
"""
SPREADS = """
## 2. The sampled gradient is unbiased for the second term

Of one group of three out of the same six responses, all groups enumerated. Its mean agrees with finite differences of
the loss in which the sampling policy is held fixed to {error} (relative) in every cell below. The table has the trace
of its covariance by the squared norm of its mean: the squared noise of a batch of one group. The reference is the
policy (distance 0), or away from it as in section 1 (1), or twice as far (2).
"""
VARIANCE = """
`dr_grpo` is `rloo` with beta * (G-1)/G, so that at distance 0 their noise is the same. {versus}
This is one policy and one group size; it is no ranking of the estimators.

Kept groups of one class count in N, which is then a constant. With `method.single_class_groups=drop` N is random, and a
mini-batch that has no mixed group gives nothing. In mini-batches of two groups of two, of one prompt, {none:.0%} have
none, and the mean gradient is that of a large batch in direction (cosine {cosine:.3f}) but shorter by {drop:.0%}; with
keep their relative distance is {keep}. With several prompts the direction changes, too: of two prompts with a group
each, mixed with chances a and b, the gradients of their mixed groups have the weights a (1 - b/2) and b (1 - a/2) in
the mean, and a / (a + b) and b / (a + b) in a large batch: the prompt that is mixed less often has less than its share
of the direction. Both effects fall with the number of groups.
"""


def section() -> str:
    """Both sections."""
    rows = []
    for estimator in ESTIMATORS:
        for weights, objective in OBJECTIVES.items():
            method = Pacs(estimator=estimator, objective=objective)
            for size in (2, 3):
                found = terms(method, size)
                rows.append(
                    [
                        f"{estimator}, w {weights}, G = {size}",
                        bound(found.error),
                        bound(found.option_error) if found.option_error < NEAREST else f"{found.option_error:.2f}",
                        f"{found.ratio:.2f}",
                        f"{found.cosine:.2f}",
                    ]
                )
    ways = along(MARKS, (1, 20, None), 1.0)
    lines = [[_period(period), *(_pair(way, i) for i in range(len(MARKS)))] for period, way in ways.items()]
    cells = {
        (estimator, weights): [spread(Pacs(estimator=estimator, objective=objective), d) for d in DISTANCES]
        for estimator in ESTIMATORS
        for weights, objective in OBJECTIVES.items()
    }
    worst = max(each.error for cell in cells.values() for each in cell)
    spreads = [
        [f"{estimator}, w {weights}", *(f"{each.variance:.2f}" for each in cell)]
        for (estimator, weights), cell in cells.items()
    ]
    alone = [cells["none", "balanced"][i].variance / cells["rloo", "balanced"][i].variance for i in (0, 2)]
    versus = (
        f"Without a comparison (`none`)\nthe noise is {alone[0]:.2f} to {alone[1]:.2f} of `rloo`'s here, balanced. At "
        "distance 0 both have the residual 1/2 - R. What differs is that\n`rloo` takes the group's mean weighted "
        "residual off and scales by G/(G-1), and the scale cancels in this ratio."
    )
    dropped, (policy, reference) = dropped_bias(), case()
    low, high = (float((log_softmax(each).exp() * SIX).sum()) for each in (policy, reference))
    return "\n".join(
        [
            TERMS,
            table(["score, weights", "sum", "option", "first / second", "cosine"], rows),
            OPTION,
            table(["K", *(f"update {mark}" for mark in MARKS)], lines),
            OPPOSED.format(p=float(state(start()[None], start()).pass_rate), low=low, high=high),
            SPREADS.format(error=bound(worst)),
            table(["score, weights", *(f"distance {d:.0f}" for d in DISTANCES)], spreads),
            VARIANCE.format(
                versus=versus, drop=dropped.drop, cosine=dropped.cosine, none=dropped.none, keep=bound(dropped.keep)
            ),
        ]
    )


def bound(difference: float) -> str:
    """A power of ten above it; what is nearer than finite differences are is rounding, and not the same everywhere."""
    return f"below 1e{math.ceil(math.log10(max(difference, NEAREST)))}"


def _period(period: int | None) -> str:
    return "never" if period is None else str(period)


def _pair(way: Along, i: int) -> str:
    return f"{way.ratio[i]:.2g}; {way.cosine[i]:.2f}"
