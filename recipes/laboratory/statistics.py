"""What runs are measured by and compared by.

All runs of a task begin at the same weights and are evaluated on the same problems. Two intervals say different things
of that: over seeds, how far a mean may be off by the luck of training, on these problems; over seeds and problems, by
the choice of the problems as well.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import ROUNDING, Estimate, pass_at_k

KS = (1, 8, 64, 256)
#: Measures of one evaluation beside pass@k, by what a page calls them, and their keys in it.
OTHERS = {
    "greedy": "greedy",
    "entropy": "entropy",
    "right entropy": "right_entropy",
    "response tokens": "response_tokens_mean",
}
LEVEL = 0.95
RESAMPLES = 10_000
SEED = 0
#: Fewest seeds of each arm for a p-value of their difference, and for the bootstrap of seeds.
LEAST_FOR_P = 3
LEAST_FOR_BOOTSTRAP = 5

Array = npt.NDArray[np.float64]
Item = TypeVar("Item")


def rates(evaluation: Mapping[str, Any], k: int) -> Array:
    """(P,) pass@k of each problem of an evaluation, unbiased; k is at most its samples a problem."""
    samples = evaluation["samples"]
    return np.array([pass_at_k(samples, right, k) for right in evaluation["right"]])


def measures(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """The measures of one evaluation: pass@k for each of `KS` that it has the samples for, `distinct`, and `OTHERS`.

    `distinct` is the mean number of distinct right answers to a problem; a measure that the evaluation has not, or that
    it has no value for, is left out.
    """
    found = {f"pass@{k}": float(rates(evaluation, k).mean()) for k in KS if k <= evaluation["samples"]}
    found["distinct"] = float(np.mean(evaluation["distinct"]))
    return found | {name: evaluation[key] for name, key in OTHERS.items() if evaluation.get(key) is not None}


def measure_names(samples: int | None) -> list[str]:
    """The measures that an evaluation with so many samples may have; None: with enough of them for all."""
    return [f"pass@{k}" for k in KS if samples is None or k <= samples] + ["distinct", *OTHERS]


@dataclass(frozen=True)
class Mean:
    """A mean over seeds, and its 95% interval by Student's t; of one seed the interval is None."""

    n: int
    mean: float
    half: float | None  # the width of the interval, halved


def over_seeds(values: Sequence[float]) -> Mean:
    """The mean of one value a seed, at least one."""
    from scipy.stats import sem, t  # slow to import

    half = float(sem(values) * t.ppf((1 + LEVEL) / 2, len(values) - 1)) if len(values) > 1 else None
    return Mean(len(values), float(np.mean(values)), half)


def jackknife(values: Sequence[Item], statistic: Callable[[Sequence[Item]], float]) -> Mean:
    """A statistic of all seeds together that is no mean over them, and its 95% interval by leaving out each in turn.

    Student's t with n - 1 degrees of freedom (Tukey 1958). With fewer than two seeds, or where the statistic is not
    finite without one of them, the interval is None.
    """
    from scipy.stats import t  # slow to import

    without = [statistic([*values[:i], *values[i + 1 :]]) for i in range(len(values))] if len(values) > 1 else []
    half = None
    if without and all(map(math.isfinite, without)):
        half = float(np.std(without) * math.sqrt(len(without) - 1) * t.ppf((1 + LEVEL) / 2, len(without) - 1))
    return Mean(len(values), statistic(values), half)


@dataclass(frozen=True)
class Difference:
    """The difference of two means over seeds, its 95% interval, and the p-value of none (two-sided).

    p is None with fewer than `LEAST_FOR_P` seeds.
    """

    mean: float
    low: float
    high: float
    p: float | None


def difference(ours: Mapping[int, float], theirs: Mapping[int, float], *, pairs: bool) -> Difference | None:
    """Ours less theirs by Welch's t-test, or by that of pairs of equal seeds; None with fewer than two seeds.

    Args:
        ours, theirs: seed -> value.
        pairs: take the differences seed by seed, of the seeds that both have.
    """
    from scipy.stats import ttest_ind, ttest_rel  # slow to import

    if pairs:
        common = [seed for seed in ours if seed in theirs]
        ours, theirs = ({seed: each[seed] for seed in common} for each in (ours, theirs))
    a, b = list(ours.values()), list(theirs.values())
    if min(len(a), len(b)) < 2:
        return None
    mean = float(np.mean(a) - np.mean(b))
    enough = min(len(a), len(b)) >= LEAST_FOR_P
    spread = np.ptp(np.subtract(a, b)) if pairs else max(np.ptp(a), np.ptp(b))
    if spread < ROUNDING:  # no variance to divide by
        return Difference(mean, mean, mean, float(abs(mean) <= ROUNDING) if enough else None)
    with warnings.catch_warnings():
        # One of the two may be alike for all seeds, as a pass@64 of 1: scipy doubts its variance, which is right.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        test = ttest_rel(a, b) if pairs else ttest_ind(a, b, equal_var=False)
    interval = test.confidence_interval(LEVEL)
    return Difference(mean, float(interval.low), float(interval.high), float(test.pvalue) if enough else None)


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values of a family of comparisons, corrected for their number by Holm (1979), in their order."""
    corrected, largest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = largest
    return corrected


def over_seeds_and_problems(ours: Array, theirs: Array | None = None, *, bands: Sequence[Sequence[int]]) -> Estimate:
    """The mean of a table of seeds and problems, or the difference of two, with a 95% interval for both choices.

    Seeds and problems are drawn anew independently of each other, since all seeds have the same problems (the bootstrap
    of crossed factors: Owen 2007, Annals of Applied Statistics 1, 386-411). Problems are drawn within their bands, of
    which a set of problems has fixed numbers. Drawing S seeds of S gives their mean a variance that is too small by
    (S - 1) / S; their deviations are widened for that. The tails are still not those of Student's t: on simulated
    normal tables with 96 problems in 8 bands, intervals of 95% held the mean .93 to .98 of the time with 5 and 8 seeds,
    but .87 to .94 where seeds differ by more than problems do, and .81 to .86 there with 3.

    The problems drawn are the same for both tables, the seeds are not. The same tables give the same interval.

    Args:
        ours: (S, P) a value a seed and problem.
        theirs: (S', P) of the same problems, taken off.
        bands: the places of the problems of each band, each of the P places in one.
    """
    columns = _columns(tuple(map(tuple, bands)))
    drawn = np.einsum("rp,rp->r", _seed_weights(len(ours), 0) @ ours, columns)
    if theirs is not None:
        drawn = drawn - np.einsum("rp,rp->r", _seed_weights(len(theirs), 1) @ theirs, columns)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(ours.mean() - (0 if theirs is None else theirs.mean())), float(low), float(high))


@cache
def _columns(bands: tuple[tuple[int, ...], ...]) -> Array:
    """(RESAMPLES, P) how large a share each problem has in a draw of as many of each band."""
    problems = sum(map(len, bands))
    columns = np.empty((RESAMPLES, problems))
    for stream, places in enumerate(bands, start=2):
        columns[:, places] = _shares(len(places), stream) * (len(places) / problems)
    return columns


@cache
def _seed_weights(count: int, stream: int) -> Array:
    """(RESAMPLES, count) shares whose deviations from the mean are widened by sqrt(S / (S - 1)); of one seed, 1."""
    widened: Array = 1 / count + (_shares(count, stream) - 1 / count) * math.sqrt(count / max(count - 1, 1))
    return widened


@cache
def _shares(count: int, stream: int) -> Array:
    """(RESAMPLES, count) how large a share each of so many has in a draw of as many; another stream, other draws."""
    generator = np.random.default_rng([SEED, stream])
    return generator.multinomial(count, np.full(count, 1 / count), size=RESAMPLES) / count


@dataclass(frozen=True)
class Reached:
    """Where a run first reached a level.

    Attributes:
        values: name -> value there, interpolated between the two evaluations on either side.
        place: position of the first evaluation that was there; 0 is that before training: costs are at most these.
    """

    values: Mapping[str, float]
    place: int


def reached(points: Sequence[Mapping[str, float]], measure: str, level: float) -> Reached | None:
    """Where a run first has at least `level` of a measure, along straight lines between its evaluations; None: nowhere.

    Args:
        points: the evaluations of a run in their order, name -> value; `measure` is one of the names.
        measure: what the level is of.
        level: to be reached.
    """
    for place, point in enumerate(points):
        if point[measure] < level:
            continue
        if place == 0:
            return Reached(point, place)
        before = points[place - 1]
        share = (level - before[measure]) / (point[measure] - before[measure])
        names = [name for name in point if name in before]
        return Reached({name: before[name] + share * (point[name] - before[name]) for name in names}, place)
    return None
