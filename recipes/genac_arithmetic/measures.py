"""How good values are: against shares of right continuations, and among candidates for the next step."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Quality:
    """Of N values.

    `mse` is the mean squared distance to the states' worth, less the noise of that; `explained` the share of the
    worth's variance, without its noise, that is explained, 0 where every state has the mean as its value.
    """

    mse: float
    explained: float


def quality(values: Sequence[float], shares: Sequence[float], continuations: int) -> Quality:
    """Of values, where each state's worth is known by the share of right ones among K continuations.

    The mean of K outcomes of chance v has a variance of v (1 - v) / K, of which share (1 - share) / (K - 1) is an
    unbiased estimate. It is taken off: what is left is the squared distance to v itself.

    Args:
        values: N of them, which know nothing of these continuations.
        shares: N of them.
        continuations: K, at least 2.
    """
    noise = fmean(share * (1 - share) for share in shares) / (continuations - 1)
    mean = fmean(shares)
    mse = fmean((value - share) ** 2 for value, share in zip(values, shares, strict=True)) - noise
    spread = fmean((share - mean) ** 2 for share in shares) - noise
    return Quality(mse, 1 - mse / spread)


@dataclass(frozen=True)
class Ranking:
    """Of sets of candidates.

    `top` is the share of sets where a candidate that is valued highest is also worth most, any of those valued alike;
    `drawn` the same with one of those drawn; `chance` where any candidate is drawn.
    """

    top: float
    drawn: float
    chance: float


def ranking(sets: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Ranking:
    """Of (values, shares) a set, one of each a candidate."""
    tops, draws, chances = [], [], []
    for values, shares in sets:
        best = [share == max(shares) for share in shares]
        highest = [known for value, known in zip(values, best, strict=True) if value == max(values)]
        tops.append(any(highest))
        draws.append(fmean(highest))
        chances.append(fmean(best))
    return Ranking(fmean(tops), fmean(draws), fmean(chances))
