"""What a curve did, in words that its own noise allows.

Whether it rose, fell, peaked or dipped is asked of the order of its values (Kendall's test): how many pairs of points
stand the wrong way round, and how likely so few are where every order is equally likely. Each of the four is told where
that is at most 1.25%, so that of curves of independent values, whatever their distribution and their number, at most
5% are said to have a trend.

The yardstick of a difference between two values is the curve's *wobble*: how far a point lies from midway between its
neighbours, in the median. Of independent Gaussian values it is 0.83 standard deviations, so that two of them are more
than 3.4 wobbles apart in one case of twenty.
"""

from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist, fmean, median

import numpy as np
import numpy.typing as npt

Format = Callable[[float], str]

NAME_CHARS = 40
#: Wobbles between two points that differ.
CLEAR = 3.4
#: How likely, of values in any order, each of the four things that are told of a curve may be.
RARE = 0.0125
#: Fewer points than this say nothing of their noise: what they are is told, not judged.
FEW_POINTS = 5
#: Above this the number of pairs the wrong way round is as good as normal.
MANY_POINTS = 100
#: A peak or dip is told if it lies this share of the curve's range beyond both ends.
NOTABLE_TURN = 0.25


def number(value: float) -> str:
    """Three significant digits."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−", 1) if value < 0 else text


def amount(value: float) -> str:
    """Three significant digits: 950, 1.25k, 3.4M."""
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= power:
            return f"{value / power:.3g}{letter}"
    return f"{value:.3g}"


def shorten(name: str) -> str:
    """The end of a long name."""
    return name if len(name) <= NAME_CHARS else "…" + name[1 - NAME_CHARS :]


def share(value: float) -> str:
    """Two decimals."""
    return f"{value:.2f}"


def wobble(values: Sequence[float]) -> float:
    """The median distance of a point from midway between its neighbours; 0 where none has two."""
    triples = zip(values, values[1:], values[2:], strict=False)
    return median([abs(value - (before + after) / 2) for before, value, after in triples] or [0.0])


def smooth(values: Sequence[float]) -> list[float]:
    """Centred means over about a tenth of the points, over fewer at the ends."""
    reach = len(values) // 20
    return [fmean(values[max(0, i - reach) : i + reach + 1]) for i in range(len(values))]


def describe(steps: Sequence[int], values: Sequence[float], unit: str = "", form: Format = number) -> str:
    """A predicate for the curve's name: "rose from 0.32 to 0.93", with `unit` behind the last value.

    Args:
        steps, values: the curve, at least one point.
        unit: of the values, with its leading space.
        form: a value as text.
    """
    first, last = form(values[0]), form(values[-1])
    if len(values) == 1:
        return f"was {first}{unit} at step {steps[0]}"
    if len(values) < FEW_POINTS:
        return f"went from {first} to {last}{unit}"
    if (turn := _turn(steps, values)) is not None:
        verb, place = turn
        return f"{verb} about {form(smooth(values)[place])} (step {steps[place]}), ended at {last}{unit}"
    for verb, sign in (("rose", 1), ("fell", -1)):
        ordered = [sign * value for value in values]
        if ordered[-1] > ordered[0] and first != last and chance(ordered) <= RARE:
            return f"{verb} from {first} to {last}{unit}"
    low, high = form(min(values)), form(max(values))
    if low == high:
        return f"stayed at {low}{unit}"
    return f"stayed about {form(median(values))}{unit} ({low} to {high})"


def _turn(steps: Sequence[int], values: Sequence[float]) -> tuple[str, int] | None:
    """A peak or dip that lies clearly beyond both ends: its verb, and its place."""
    for verb, sign in (("peaked at", 1), ("fell to", -1)):
        smoothed = [sign * value for value in smooth(values)]
        place = smoothed.index(max(smoothed))
        beyond = smoothed[place] - max(sign * values[0], sign * values[-1])
        # What is averaged with the peak is left out: that it lies low would be told of any.
        reach = len(values) // 20
        before = [sign * value for value in values[: max(0, place - reach)]]
        after = [-sign * value for value in values[place + reach + 1 :]]
        notable = beyond > NOTABLE_TURN * (max(smoothed) - min(smoothed))
        if notable and chance(before, after) <= RARE:
            return verb, place
    return None


def chance(*parts: Sequence[float]) -> float:
    """How likely parts of a curve are to be in as good an ascending order as they are, of values in any order.

    The order is as good as the pairs of a part are few of which the later is not the larger, in all parts together.
    The number of orders with so many such pairs has the generating function prod_i (1 + x + ... + x^(i-1)) (Kendall
    1938, Biometrika 30, 81-93); of pairs with equal values each counts.
    """
    wrong = 0
    for part in parts:
        column = np.asarray(part, dtype=float)
        wrong += int(np.triu(column[:, None] >= column[None, :], k=1).sum())
    sizes = [len(part) for part in parts]
    if sum(sizes) > MANY_POINTS:
        mean = sum(size * (size - 1) / 4 for size in sizes)
        variance = sum(size * (size - 1) * (2 * size + 5) / 72 for size in sizes)
        return NormalDist(mean, variance**0.5).cdf(wrong + 0.5)
    orders: npt.NDArray[np.float64] = np.ones(1)
    for size in sizes:
        orders = np.convolve(orders, _orders(size)).astype(np.float64)
    return float(orders[: wrong + 1].sum())


@cache
def _orders(points: int) -> npt.NDArray[np.float64]:
    """The share of the orders of so many points that have 0, 1, 2, ... pairs the wrong way round."""
    shares = np.ones(1)
    for place in range(2, points + 1):
        sums = np.concatenate([np.zeros(1), np.concatenate([shares, np.zeros(place - 1)]).cumsum()])
        ends = np.arange(1, len(sums))
        shares = (sums[ends] - sums[np.maximum(ends - place, 0)]) / place
    return shares
