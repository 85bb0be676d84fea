"""What a figure's title says: found in the data that the figure shows, and no more than they show.

Of one group of runs it is from where to where a metric went, of several which is highest at the end that all have
reached. Both ends are means over a third of the points, since a single one may be noise.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Concatenate, NamedTuple, ParamSpec

from pacs.report.run_groups import Band, Group

#: From the groups to a sentence without its full stop; empty where none has the metric that it would be about.
Finding = Callable[[Sequence[Group]], str]
Format = Callable[[float], str]
P = ParamSpec("P")

NAME_CHARS = 40
#: Of a whole, that a title names.
MOST_PARTS = 3
#: Of groups.
MOST_LEADERS = 2
#: Wobbles between two values of single runs that differ: of independent Gaussian values, of whose standard deviation
#: a wobble is 0.83, two are farther apart in one case of twenty.
CLEAR = 3.4
#: Runs -> their range times this is half of the 95% interval of their mean (Lord 1947, Biometrika 34, 41-67); of more
#: runs that of ten, which is wider than it need be.
RANGES = {2: 6.353, 3: 1.304, 4: 0.717, 5: 0.507, 6: 0.399, 7: 0.333, 8: 0.288, 9: 0.255, 10: 0.230}


class Interval(NamedTuple):
    """A mean between the ends of its interval."""

    low: float
    mean: float
    high: float


def number(value: float) -> str:
    """Three significant digits; from 1,000 on all before the point, as far as a float has them."""
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
    return text.replace("-", "−", 1) if value < 0 else text


def amount(value: float) -> str:
    """Three significant digits: 950, 1.25k, 3.4M."""
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= power:
            return f"{value / power:.3g}{letter}"
    return f"{value:.3g}"


def share(value: float) -> str:
    """Two decimals."""
    return f"{value:.2f}"


def shorten(name: str) -> str:
    """The end of a long name."""
    return name if len(name) <= NAME_CHARS else "…" + name[1 - NAME_CHARS :]


def told_of(tell: Callable[Concatenate[Sequence[Group], P], str]) -> Callable[P, Finding]:
    """A function of the groups and of what it is about, as one that makes a `Finding` of the latter."""

    def about(*args: P.args, **kwargs: P.kwargs) -> Finding:
        return lambda groups: tell(groups, *args, **kwargs)

    return about


@told_of
def change(groups: Sequence[Group], key: str, subject: str, unit: str = "", form: Format = number) -> str:
    """From where to where the metric went; of several groups, which is highest."""
    return tell(bands_of(groups, key), subject, unit, form)


@told_of
def separation(groups: Sequence[Group], right: str, wrong: str, subject: str, gap: str, unit: str = "") -> str:
    """What right and what wrong responses have at the end; of several groups the distance of the two.

    Args:
        right, wrong: the metrics.
        subject: what they are.
        gap: what the one less the other is.
        unit: with its leading space.
    """
    rights, wrongs = bands_of(groups, right), bands_of(groups, wrong)
    both = {label: (rights[label], wrongs[label]) for label in rights if label in wrongs}
    end = common_end([band for pair in both.values() for band in pair])
    if end is None:
        return ""
    ends = {label: (last_third(one, end), last_third(other, end)) for label, (one, other) in both.items()}
    if len(ends) > 1:
        gaps = {label: Interval(r.low - w.high, r.mean - w.mean, r.high - w.low) for label, (r, w) in ends.items()}
        return f"{gap}, last third: {rank(gaps, unit, number)}"
    ((one, other),) = ends.values()
    return f"{subject} in the last third: {number(one.mean)}{unit} for right, {number(other.mean)} for wrong"


@told_of
def phases(groups: Sequence[Group], total: str, parts: Mapping[str, str]) -> str:
    """How long a step takes, and what most of that goes to.

    Args:
        total: seconds of a step.
        parts: seconds of a phase -> what it is called.
    """
    bands = bands_of(groups, total)
    text = tell(bands, "Time of a step", " s", number)
    for group in groups if len(bands) == 1 else ():
        seconds = {name: sum(group.band(key).mean) for key, name in parts.items()}
        most = max(seconds, key=lambda name: seconds[name])
        if group.label in bands and seconds[most]:
            text += f", {seconds[most] / sum(bands[group.label].mean):.0%} of it {most}"
    return text


@told_of
def shares(groups: Sequence[Group], subject: str, parts: Mapping[str, str], contested: str) -> str:
    """From where to where the shares of a whole went; of several groups, one of them.

    Args:
        subject: what the whole is.
        parts: share -> what it is called.
        contested: the share that tells groups apart.
    """
    if len(groups) > 1:
        return tell(bands_of(groups, contested), f"Share of “{parts[contested]}”", "", share)
    bands = {name: band for key, name in parts.items() if any((band := groups[0].band(key)).mean)}
    largest = sorted(bands, key=lambda name: max(bands[name].mean), reverse=True)[:MOST_PARTS]
    return f"{subject}: {', '.join(f'{name} {way(band, share)}' for name, band in bands.items() if name in largest)}"


def bands_of(groups: Sequence[Group], *keys: str) -> dict[str, Band]:
    """Label -> the metric, or the mean of several, of the groups that have it."""
    bands = {group.label: group.band(*keys) for group in groups}
    return {label: band for label, band in bands.items() if band.steps}


def tell(bands: Mapping[str, Band], subject: str, unit: str, form: Format) -> str:
    """From where to where one curve went; which of several is highest at the end that all have, if there is one."""
    if len(bands) == 1:
        (band,) = bands.values()
        return f"{subject}: {way(band, form)}{unit}"
    end = common_end([*bands.values()])
    if end is None:
        return ""
    axis = next(iter(bands.values())).axis
    where = axis.end.format(amount(end) if axis.metric else f"{end:.0f}")
    ends = {label: last_third(band, end) for label, band in bands.items()}
    return f"{subject}, last third up to {where}: {rank(ends, unit, form)}"


def way(band: Band, form: Format) -> str:
    """The mean of the first third, and that of the last; of a single point its value."""
    first, last = form(fmean(band.mean[: math.ceil(len(band.mean) / 3)])), form(last_third(band).mean)
    return f"{first} → {last}" if len(band.mean) > 1 else last


def common_end(bands: Sequence[Band]) -> float | None:
    """How far on their axis all have come; None where one of them begins later, or there is none."""
    end = min((band.places[-1] for band in bands), default=-math.inf)
    return end if bands and all(band.places[0] <= end for band in bands) else None


def last_third(band: Band, end: float = math.inf) -> Interval:
    """The mean over the last third of the points up to the end, with its interval: over the runs, or as far as the
    noise of a single run reaches."""
    count = bisect_right(band.places, end)
    first = count - math.ceil(count / 3)
    low, mean, high = (fmean(column[first:count]) for column in (band.low, band.mean, band.high))
    if band.runs > 1:
        return over_runs(low, mean, high, band.runs)
    noise = CLEAR / 2 * wobble(band.mean)
    return Interval(mean - noise, mean, mean + noise)


def wobble(values: Sequence[float]) -> float:
    """The median distance of a point from midway between its neighbours; 0 where none has two."""
    triples = zip(values, values[1:], values[2:], strict=False)
    return median([abs(value - (before + after) / 2) for before, value, after in triples] or [0.0])


def over_runs(low: float, mean: float, high: float, runs: int) -> Interval:
    """The mean between the ends of its 95% interval, of two runs or more, by their range."""
    half = RANGES[min(runs, max(RANGES))] * (high - low)
    return Interval(mean - half, mean, mean + half)


def rank(values: Mapping[str, Interval], unit: str, form: Format) -> str:
    """Who is highest and who is lowest, unless their intervals overlap.

    Args:
        values: of two or more, by their labels.
        unit: of the values, with its leading space.
        form: a value as text.
    """
    order = sorted(values, key=lambda label: values[label].mean, reverse=True)
    top, bottom = order[0], order[-1]
    high, low = form(values[top].mean), form(values[bottom].mean)
    if values[top].low <= values[bottom].high or low == high:
        return f"no clear difference ({high if low == high else f'{low} to {high}'}{unit})"
    if len(order) == 2:
        return f"{high}{unit} for {shorten(top)}, {low} for {shorten(bottom)}"
    leaders = [shorten(label) for label in order if values[label].high >= values[top].low]
    who = " and ".join(leaders) if len(leaders) <= MOST_LEADERS else f"{len(leaders)} of {len(order)} about equally"
    return f"{who} highest ({high}{unit}; lowest {low})"
