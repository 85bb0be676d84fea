"""Means over problems, and how far they may be off by the choice of problems."""

from dataclasses import dataclass

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
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 0:
        raise ValueError("no problem to take the mean of")
    generator = np.random.default_rng(SEED)
    block = max(1, BLOCK_VALUES // len(values))
    means = np.concatenate(
        [
            values[generator.integers(len(values), size=(min(block, RESAMPLES - start), len(values)))].mean(axis=1)
            for start in range(0, RESAMPLES, block)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(float(values.mean()), float(low), float(high))
