"""What a curve did, in words that its own noise allows.

The yardstick is the curve's *wobble*: how far a point lies from midway between its neighbours, in the median. Of
independent Gaussian values it is 0.83 standard deviations, so that two of them are more than 3.4 wobbles apart in one
case of twenty: a larger change counts as clear.
"""

from collections.abc import Callable, Sequence
from statistics import fmean, median

Format = Callable[[float], str]

CLEAR = 3.4
"""Wobbles between two points that differ."""
FEW_POINTS = 5
"""Fewer points than this say nothing of their noise: what they are is told, not judged."""
NOTABLE_TURN = 0.25
"""A peak or dip is told if it lies this share of the curve's range beyond both ends."""


def number(value: float) -> str:
    """Three significant digits."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−", 1) if value < 0 else text


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
    turn = _turn(steps, values)
    if turn is not None:
        verb, place = turn
        return f"{verb} about {form(smooth(values)[place])} (step {steps[place]}), ended at {last}{unit}"
    if abs(values[-1] - values[0]) > CLEAR * wobble(values) and first != last:
        return f"{'rose' if values[-1] > values[0] else 'fell'} from {first} to {last}{unit}"
    low, high = form(min(values)), form(max(values))
    if low == high:
        return f"stayed at {low}{unit}"
    return f"stayed about {form(median(values))}{unit} ({low} to {high})"


def _turn(steps: Sequence[int], values: Sequence[float]) -> tuple[str, int] | None:
    """A peak or dip that lies clearly beyond both ends: its verb, and its place."""
    smoothed = smooth(values)
    ends = (values[0], values[-1])
    least = max(CLEAR * wobble(values), NOTABLE_TURN * (max(smoothed) - min(smoothed)))
    above, below = max(smoothed) - max(ends), min(ends) - min(smoothed)
    if max(above, below) <= least:
        return None
    if above >= below:
        return "peaked at", smoothed.index(max(smoothed))
    return "fell to", smoothed.index(min(smoothed))
