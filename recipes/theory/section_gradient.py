"""Sections 1 and 2 of the theory page: Eq. 5's two terms, and the mean and the variance of the sampled gradient."""

import math

from pacs.algorithm import Pacs
from pacs.algorithm.class_balance import Objective
from pacs.algorithm.scores import Estimator
from pacs.base.markdown import table
from recipes.theory.enumeration import log_softmax
from recipes.theory.equation5 import SIX, Along, Terms, along, case, dropped_bias, spread, terms
from recipes.theory.flow import start, state

OBJECTIVES: dict[str, Objective] = {"1": "pass_rate", "balanced": "log_odds", "1/q": "log_pass_rate"}
ESTIMATORS: tuple[Estimator, ...] = ("none", "rloo")
MARKS = (1, 20, 100, 300, 1000)
DISTANCES = (0.0, 1.0, 2.0)
SIZES = (2, 3)
HEADS = ("option", "first / second; cosine")
#: Finite differences in float64 are no nearer than this.
NEAREST = 1e-9

TERMS = """\
## 1. Eq. 5 has two terms; a sampled batch has the second

For a group o_1 .. o_G sampled from pi, let L be the mean of its w_i l_i. Then

    d E[L] = E[ L * sum_i d log pi(o_i) ]  +  E[ dL ]
              first term: what is sampled       second term: how it is scored

Autograd of a sampled batch gives only the second term. PACS is trained with this. The table enumerates
all groups of six responses, three right, at a policy away from its reference. Both terms together
agree with finite differences of E[L] (order 4) to {error} (relative). "Option" is the relative error
of `method.policy_gradient_term=true` as the first term.
"""
OPTION = """
The option takes (1/G) sum_i w_i l_i d log pi(o_i). That is the first term if l_i and w_i depend
only on o_i. If scores are compared, or weights depend on the group, the losses of the others
depend on o_i, too, and the option omits these products.

The next table follows a descent by the second term (12 responses, 5 right, G = 2, balanced, learning
rate 1, beta 1). Cells: the ratio of the first term's norm to the second's; their
cosine. Both are taken after the update, with the reference of that update.
"""
OPPOSED = """
The first term is small only near the reference. With classes in the reference's proportions, G = 2
and balanced weights, its slope in the pass rate p is

    (2 - 4p) * (log(1 + exp(-(logit p - logit p_ref))) - log 2)

After some learning, the loss of a mixed group is below log 2, the loss of a single-class group. The first
term then favours mixed groups. This agrees with the second term below p = 1/2, and opposes it
above. This descent starts at
p = {p:.2f}, so the terms are opposed. In the first table (p = {low:.2f}, p_ref = {high:.2f}) they agree.
"""
SPREADS = """
## 2. The sampled gradient is unbiased for the second term

The mean gradient over all groups of three of the six responses agrees with finite differences, at a
fixed sampling policy, to {error} (relative). The table has the squared noise of one group:
the trace of the gradient's covariance over the squared norm of its mean. Cells: reference equal to the
policy; away from it as in section 1; twice as far.
"""
VARIANCE = """
Without a comparison (`none`) the noise is {least:.2f} to {most:.2f} of `rloo`'s, balanced. This is one
policy and one group size; it does not rank the estimators.

If single-class groups are kept, they count in N, which is then constant. With
`method.single_class_groups=drop` N is random, and a mini-batch without a mixed group gives no gradient. For
one prompt, {none:.0%} of the mini-batches of two groups of two are such. The mean gradient then has the
direction of a large batch's (cosine {cosine:.3f}) but is shorter by {drop:.0%}. If they are kept, the two
agree to {keep}. With several prompts, a prompt with fewer mixed groups gets less than its share. Both effects
shrink with more groups.
"""


def section() -> str:
    """Both sections."""
    rows, errors = [], []
    for estimator in ESTIMATORS:
        for weights, objective in OBJECTIVES.items():
            found = [terms(Pacs(estimator=estimator, objective=objective), size) for size in SIZES]
            errors += [each.error for each in found]
            rows.append([f"{estimator}, w {weights}", *map(_option, found), *map(_ratio, found)])
    ways = along(MARKS, (1, 20, None), 1.0)
    lines = [[_period(period), *(_pair(way, i) for i in range(len(MARKS)))] for period, way in ways.items()]
    cells = {
        (estimator, weights): [spread(Pacs(estimator=estimator, objective=objective), d) for d in DISTANCES]
        for estimator in ESTIMATORS
        for weights, objective in OBJECTIVES.items()
    }
    worst = max(each.error for cell in cells.values() for each in cell)
    spreads = [
        [each, *("; ".join(f"{one.variance:.2f}" for one in cells[each, weights]) for weights in OBJECTIVES)]
        for each in ESTIMATORS
    ]
    alone = [cells["none", "balanced"][i].variance / cells["rloo", "balanced"][i].variance for i in (0, 2)]
    dropped, (policy, reference) = dropped_bias(), case()
    low, high = (float((log_softmax(each).exp() * SIX).sum()) for each in (policy, reference))
    return "\n".join(
        [
            TERMS.format(error=bound(max(errors))),
            table(["score, weights", *(f"{name}, G = {size}" for name in HEADS for size in SIZES)], rows),
            OPTION,
            table(["K", *(f"update {mark}" for mark in MARKS)], lines),
            OPPOSED.format(p=float(state(start()[None], start()).pass_rate), low=low, high=high),
            SPREADS.format(error=bound(worst)),
            table(["score", *(f"w {weights}" for weights in OBJECTIVES)], spreads),
            VARIANCE.format(
                least=alone[0],
                most=alone[1],
                drop=dropped.drop,
                cosine=dropped.cosine,
                none=dropped.none,
                keep=bound(dropped.keep),
            ),
        ]
    )


def bound(difference: float) -> str:
    """A power of ten above it; what is nearer than finite differences are is rounding, and not the same everywhere."""
    return f"below 1e{math.ceil(math.log10(max(difference, NEAREST)))}"


def _option(found: Terms) -> str:
    return bound(found.option_error) if found.option_error < NEAREST else f"{found.option_error:.2f}"


def _ratio(found: Terms) -> str:
    return f"{found.ratio:.2f}; {found.cosine:.2f}"


def _period(period: int | None) -> str:
    return "never" if period is None else str(period)


def _pair(way: Along, i: int) -> str:
    return f"{way.ratio[i]:.2g}; {way.cosine[i]:.2f}"
