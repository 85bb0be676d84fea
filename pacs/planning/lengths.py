"""How long the prompts and the responses of a step are."""

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pacs.planning.assumptions import MEAN_PROMPT_SHARE, PROMPT_SPREAD, RESPONSE_SPREAD, Assumption

#: Of the order in which lengths come.
SEED = 0


@dataclass(frozen=True, eq=False)
class Lengths:
    """Tokens of a step's rows, in the order in which they are asked for.

    Attributes:
        prompts: of each prompt, int64 (prompts,).
        responses: of each row, int64 (rows,), at least 1; the rows of a prompt follow each other.
        source: where both are from.
        pairs: tokens that see each other, in all rows; None: a token sees all of its row before it.
    """

    prompts: NDArray[np.int64]
    responses: NDArray[np.int64]
    source: str
    pairs: float | None = None

    @property
    def rows(self) -> NDArray[np.int64]:
        """Tokens of prompt and response, (rows,)."""
        return np.repeat(self.prompts, len(self.responses) // len(self.prompts)) + self.responses


@dataclass(frozen=True)
class Sample:
    """Lengths that were seen, in tokens.

    Attributes:
        prompts, responses: none of either, if nothing is known of it.
        source: where they are from, for the plan's reader.
    """

    prompts: tuple[int, ...]
    responses: tuple[int, ...]
    source: str


@lru_cache(maxsize=32)
def assumed(count: int, mean: float, longest: int, spread: float) -> NDArray[np.int64]:
    """So many lengths of a log-normal distribution whose logarithm has the standard deviation `spread`, cut off at the
    longest, with this mean after the cut: its quantiles, in an order from a fixed seed."""
    quantiles = np.array([NormalDist(0, spread).inv_cdf((index + 0.5) / count) for index in range(count)])

    def cut(median: float) -> NDArray[np.float64]:
        return np.clip(np.exp(quantiles + median), 1, longest)

    low, high = -10.0, float(np.log(longest) - quantiles[0])  # logarithms of the median
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cut(middle).mean() < mean else (low, middle)
    return _shuffled(np.rint(cut(high)).astype(np.int64))


@lru_cache(maxsize=32)
def drawn(count: int, sample: tuple[int, ...], longest: int) -> NDArray[np.int64]:
    """So many lengths with the distribution of a sample, cut off at the longest: its quantiles, in an order from a
    fixed seed."""
    places = (np.arange(count) + 0.5) / count
    quantiles = np.quantile(np.asarray(sample), places, method="inverted_cdf")
    return _shuffled(np.clip(quantiles, 1, longest).astype(np.int64))


@lru_cache(maxsize=32)
def step_lengths(
    prompts: int, responses: int, mean: float, longest: int, longest_prompt: int, sample: Sample | None
) -> Lengths:
    """Of a step: those of a sample, where it has any; else those of an assumed distribution. The same object for the
    same step, so that generation is calculated once.

    Args:
        prompts: how many.
        responses: to each of them.
        mean: of a response, where it is assumed.
        longest: response.
        longest_prompt: prompt.
        sample: what was seen.
    """
    sample = sample or Sample((), (), "assumed")
    mean_prompt = MEAN_PROMPT_SHARE.value * longest_prompt
    return Lengths(
        _lengths(prompts, sample.prompts, mean_prompt, longest_prompt, PROMPT_SPREAD),
        _lengths(prompts * responses, sample.responses, mean, longest, RESPONSE_SPREAD),
        sample.source,
    )


def _lengths(count: int, sample: tuple[int, ...], mean: float, longest: int, spread: Assumption) -> NDArray[np.int64]:
    return drawn(count, sample, longest) if sample else assumed(count, mean, longest, spread.value)


def _shuffled(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    np.random.default_rng(SEED).shuffle(lengths)
    lengths.setflags(write=False)
    return lengths
