"""Means over problems, and how far they may be off by the choice of problems."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
SEED = 0
#: Most values that are held at a time.
BLOCK_VALUES = 2**22


#: What the sums of a draw may be off by; shares of problems and samples are multiples of far more.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A mean over problems and its 95% interval."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside the interval, by more than rounding."""
        return self.low > ROUNDING or self.high < -ROUNDING


def estimate(values: npt.ArrayLike) -> Estimate:
    """The mean of one value a problem, with the 95% percentile interval of the bootstrap over problems.

    Problems are drawn with replacement, as many as there are; the interval goes from the 2.5th to the 97.5th
    percentile of the means of 10,000 such draws (Efron & Tibshirani 1993, chapter 13). It says how far another
    choice of such problems might move the mean. The same values give the same interval: the seed is fixed, and the
    problems drawn depend on nothing but their number. So the interval of a difference is that of `a - b`, with the
    same problems drawn for both (the paired bootstrap).

    Args:
        values: (P,) of P >= 1 problems. Of a single problem the interval is the mean.

    Raises:
        ValueError: no problem.
    """
    return estimate_mean([values])


def estimate_mean(sets: Sequence[npt.ArrayLike]) -> Estimate:
    """The mean over sets of problems of each set's mean, with the interval of `estimate`: each set is drawn by itself.

    Sets weigh alike, however many problems they have, as benchmarks do in a table's mean. (A set may have a single
    problem, which `scipy.stats.bootstrap` does not take.)

    Args:
        sets: (P,) each, one value a problem; P >= 1 may differ.

    Raises:
        ValueError: no set, or one without a problem.
    """
    given = [np.asarray(values, dtype=np.float64) for values in sets]
    if not given or any(len(values) == 0 for values in given):
        raise ValueError("no set, or one without a problem, to take the mean of")
    mean = sum(float(values.mean()) for values in given) / len(given)
    generator = np.random.default_rng(SEED)
    total = np.zeros(RESAMPLES)
    for values in given:
        size = max(1, BLOCK_VALUES // len(values))
        for start in range(0, RESAMPLES, size):
            drawn = generator.integers(len(values), size=(min(size, RESAMPLES - start), len(values)))
            total[start : start + len(drawn)] += values[drawn].mean(axis=1) / len(given)
    low, high = np.percentile(total, [2.5, 97.5])
    return Estimate(mean, float(low), float(high))


@lru_cache(maxsize=65536)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that k of n samples, drawn without replacement, hold a right one: 1 - C(n-c, k) / C(n, k).

    The estimator of Chen et al. (2021, arXiv 2107.03374): its mean over samplings is the true pass@k for every
    k <= n. Counted in whole numbers and rounded once, so it is exact to the last bit for any n.

    Args:
        n: samples of one problem.
        c: how many of them are right.
        k: how many are drawn.

    Raises:
        ValueError: unless 0 <= c <= n and 1 <= k <= n.
    """
    if n < 1:
        raise ValueError(f"n={n}: pass@k needs at least one sample a problem")
    if not 0 <= c <= n:
        raise ValueError(f"c={c}: the number of right samples must lie between 0 and n={n}")
    if not 1 <= k <= n:
        raise ValueError(f"k={k}: pass@k needs k between 1 and n={n}; take more samples a problem or a smaller k")
    draws = comb(n, k)
    return (draws - comb(n - c, k)) / draws
