"""How good values are: beside means of K outcomes, whose noise is taken out.

A state's true value is the chance of success from there. What is known is v, the mean of K outcomes of 0 or 1, which
differs from it by a variance that v(1-v)/(K-1) estimates without bias.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import Estimate, estimate

Floats = npt.NDArray[np.float64]
#: Values within this of the best are as good.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Truth:
    """S states of P problems.

    Attributes:
        values: (S,) the mean outcome of the continuations of each.
        noise: (S,) the variance of that about the true value, estimated.
        problems: (S,) which problem each is of, by number.
    """

    values: Floats
    noise: Floats
    problems: npt.NDArray[np.int64]

    @property
    def weights(self) -> Floats:
        """(S,) they sum to 1; each problem weighs alike, however many states it has."""
        _, place, counts = np.unique(self.problems, return_inverse=True, return_counts=True)
        return np.asarray(1 / (len(counts) * counts[place]))

    @property
    def variance(self) -> float:
        """Of true values over the states."""
        weights = self.weights
        mean = float(weights @ self.values)
        spread = float(weights @ (self.values - mean) ** 2) / max(1 - float(weights @ weights), ROUNDING)
        return spread - float(weights @ self.noise)


@dataclass(frozen=True)
class Bin:
    """States of about the same predicted value.

    Attributes:
        score: ten times it, rounded.
        states: how many.
        predicted, value: their means.
    """

    score: int
    states: int
    predicted: float
    value: float


@dataclass(frozen=True)
class TopOne:
    """How often the candidate that is valued highest is the best one.

    Attributes:
        right: where several are valued highest, it counts that one of them is the best.
        by_lot: where several are, one of them is drawn.
        chance: of a candidate that is drawn from all.
        sets: of candidates.
    """

    right: float
    by_lot: float
    chance: float
    sets: int


def label_noise(values: npt.ArrayLike, continuations: int) -> Floats:
    """(S,) v(1-v)/(K-1). Raises ValueError for fewer than two continuations, which say nothing of their noise."""
    if continuations < 2:
        raise ValueError("the noise of one outcome is not known: take two continuations or more")
    known = np.asarray(values, dtype=np.float64)
    return known * (1 - known) / (continuations - 1)


def squared_errors(predicted: npt.ArrayLike, truth: Truth, noise: npt.ArrayLike = 0.0) -> Floats:
    """(S,) squared differences to the true values: unbiased, so that one may be below 0.

    Args:
        predicted: (S,) values.
        truth: of the states.
        noise: (S,) variance of the predicted values about what is meant, where they are means of outcomes too.
    """
    return np.asarray((np.asarray(predicted) - truth.values) ** 2 - truth.noise - np.asarray(noise))


def mean_error(errors: Floats, truth: Truth) -> Estimate:
    """Their mean over problems of the mean over a problem's states, with the bootstrap's interval over problems."""
    return estimate([errors[truth.problems == problem].mean() for problem in np.unique(truth.problems)])


def explained(errors: Floats, truth: Truth) -> float | None:
    """The share of the true values' variance that is explained: 1 - MSE/variance. None if they do not vary."""
    variance = truth.variance
    return 1 - float(truth.weights @ errors) / variance if variance > ROUNDING else None


def calibration(predicted: npt.ArrayLike, truth: Truth) -> list[Bin]:
    """States by the score that is nearest to their predicted value, lowest first."""
    given = np.asarray(predicted, dtype=np.float64)
    scores = np.floor(10 * given + 0.5 + ROUNDING).astype(int)
    return [
        Bin(int(score), int(there.sum()), float(given[there].mean()), float(truth.values[there].mean()))
        for score in np.unique(scores)
        for there in [scores == score]
    ]


def top_one(candidates: Sequence[tuple[Sequence[float], Sequence[float]]], size: int) -> TopOne | None:
    """Over all choices of so many of a state's candidates; each state weighs alike.

    Several candidates of the highest known value are all the best.

    Args:
        candidates: of each state, the predicted and the known values of its candidates.
        size: how many are compared.

    Returns:
        None if no state has as many.
    """
    found = [
        np.mean([_compared(chosen) for chosen in itertools.combinations(zip(*pair, strict=True), size)], axis=0)
        for pair in candidates
        if len(pair[0]) >= size
    ]
    if not found:
        return None
    right, by_lot, chance = np.mean(found, axis=0)
    return TopOne(float(right), float(by_lot), float(chance), len(found))


def _compared(chosen: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    predicted, known = (np.array(values) for values in zip(*chosen, strict=True))
    best = known >= known.max() - ROUNDING
    highest = predicted >= predicted.max() - ROUNDING
    both = (best & highest).sum()
    return float(both > 0), float(both / highest.sum()), float(best.mean())
