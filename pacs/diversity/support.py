"""Which problems two models solve within k samples, after "The Invisible Leash" (Wu et al., arXiv 2507.14843)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import Estimate, estimate
from pacs.diversity.measures import answer_entropy, token_entropy
from pacs.evaluation.sample import GradedTask

#: One minus the confidence with which an answer not seen in k samples is said to be rarer than `threshold`.
ZETA = 0.05


class Support(NamedTuple):
    """Problems by who solves them; a problem is the paper's "correct completion", all ways to its answer being one.

    Attributes:
        kept: by both ("preservation", P).
        gained: by the trained model alone ("expansion", E).
        lost: by the base model alone ("shrinkage", S).
        neither: by none ("out of support", O).
    """

    kept: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    neither: tuple[str, ...]

    @property
    def metrics(self) -> dict[str, float | None]:
        """The paper's four (`rates`), None where nothing is divided by."""
        found = rates(np.array([*map(len, self)], dtype=np.float64))
        return {name: None if np.isnan(value) else float(value) for name, value in zip(METRICS, found, strict=True)}


METRICS = ("SRR", "NDR", "SDS", "NSCR")


def rates(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The paper's four metrics (`METRICS`) of counts of problems, NaN where nothing is divided by.

    SRR = P / (P + S): of what the base model solves, the share that is kept. NDR = E / (P + E): of what the trained
    model solves, the share that the base model does not. SDS = 2 SRR NDR / (SRR + NDR), the harmonic mean, which is
    2 P E / (P^2 + 2 P E + E S); 0 if both are. NSCR = (E - S) / (P + E + S): net expansion above 0, net shrinkage
    below.

    Args:
        counts: (..., 4) problems that are kept, gained, lost and neither.

    Returns:
        (..., 4)
    """
    kept, gained, lost, _ = np.moveaxis(counts, -1, 0)
    with np.errstate(invalid="ignore"):
        both = 2 * kept * gained
        values = (
            kept / (kept + lost),
            gained / (kept + gained),
            both / (kept**2 + both + gained * lost),
            (gained - lost) / (kept + gained + lost),
        )
    return np.stack(values, axis=-1)


def sort_problems(base: Mapping[str, int], model: Mapping[str, int], least: int) -> Support:
    """Sort problems by who solves them.

    Args:
        base, model: problem -> how many of its samples are right.
        least: how many must be right for the problem to be solved.
    """
    solved = {name: (base[name] >= least, model[name] >= least) for name in base}
    kinds = ((True, True), (False, True), (True, False), (False, False))
    return Support(*(tuple(name for name in solved if solved[name] == kind) for kind in kinds))


def together(parts: Sequence[Support]) -> Support:
    """Several tasks as one."""
    return Support(*(tuple(chain(*problems)) for problems in zip(*parts, strict=True)))


def threshold(k: int, least: int = 1) -> float:
    """Epsilon: what fewer than `least` of k samples give is as rare as this, with confidence 1 - `ZETA`.

    It is Clopper and Pearson's one-sided bound after `least - 1` successes. For one, epsilon = 1 - zeta^(1/k): all k
    miss a likelier answer with a probability below zeta. Appendix C.4 has the bound -log(zeta) / k, which is a little
    above it, and for small k above 1.
    """
    if least == 1:
        return float(1 - ZETA ** (1 / k))
    # It takes a second to import.
    from scipy.stats import beta

    return float(beta.ppf(1 - ZETA, least, k - least + 1))


def sign_test(gained: int, lost: int) -> float:
    """Two-sided p of the exact sign test (McNemar's): how often so uneven a split comes of gains and losses alike.

    Of few problems it says what the bootstrap cannot: where all that change change one way, each draw is of one mind.
    """
    from scipy.stats import binomtest

    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


ENTROPIES = {"answer_entropy": answer_entropy, "token_entropy": token_entropy}


@dataclass(frozen=True)
class Entropy:
    """The mean over problems of one entropy, in nats: of the base model, of the trained one, of their difference."""

    base: Estimate
    model: Estimate
    difference: Estimate


def entropies_of(base: GradedTask, model: GradedTask, k: int) -> dict[str, Entropy]:
    """The entropies of the first k samples of each problem, without those that were not recorded for both models."""
    found = {}
    for name, entropy in ENTROPIES.items():
        pair = [[entropy(task.samples[problem][:k]) for problem in base.samples] for task in (base, model)]
        if None not in pair[0] + pair[1]:
            first, second = np.array(pair, dtype=np.float64)
            found[name] = Entropy(estimate(first), estimate(second), estimate(second - first))
    return found
