"""What a figure's title says: found in the data that the figure shows, and no more than they show."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Concatenate, ParamSpec

from pacs.report.groups import Band, Group, resets
from pacs.report.trends import CLEAR, Format, amount, describe, number, share, shorten, wobble

#: From the groups to a sentence without its full stop; empty where none has the metric that it would be about.
Finding = Callable[[Sequence[Group]], str]
P = ParamSpec("P")

#: Of a whole, that a title names.
MOST_PARTS = 3
#: Of groups.
MOST_LEADERS = 2
#: Runs -> their range times this is half of the 95% interval of their mean (Lord 1947, Biometrika 34, 41-67); of more
#: runs that of ten, which is wider than it need be.
RANGES = {2: 6.353, 3: 1.304, 4: 0.717, 5: 0.507, 6: 0.399, 7: 0.333, 8: 0.288, 9: 0.255, 10: 0.230}


def told_of(tell: Callable[Concatenate[Sequence[Group], P], str]) -> Callable[P, Finding]:
    """A function of the groups and of what it is about, as one that makes a `Finding` of the latter."""

    def about(*args: P.args, **kwargs: P.kwargs) -> Finding:
        return lambda groups: tell(groups, *args, **kwargs)

    return about


@told_of
def change(groups: Sequence[Group], key: str, subject: str, unit: str = "", form: Format = number) -> str:
    """What the metric did over the run; of several groups, where each ended."""
    return tell(bands_of(groups, key), subject, unit, form)


@told_of
def typical(groups: Sequence[Group], key: str, subject: str, unit: str = "") -> str:
    """The metric's median and its largest value, for what has no direction; of several groups their medians."""
    bands = bands_of(groups, key)
    if len(bands) > 1:
        medians = {
            label: _interval(band, median(band.low), median(band.mean), median(band.high))
            for label, band in bands.items()
        }
        return f"Median {subject}: {rank(medians, unit, number)}"
    (band,) = bands.values()
    most = max(band.high)
    where = band.steps[band.high.index(most)]
    return f"{capital(subject)}: median {number(median(band.mean))}{unit}, at most {number(most)} (step {where})"


@told_of
def distance(groups: Sequence[Group], key: str) -> str:
    """How far the policy went from its reference, and how often that was set to the policy."""
    far = {label: max(band.mean) for label, band in bands_of(groups, key).items()}
    farthest = max(far, key=lambda label: far[label])
    (group,) = (group for group in groups if group.label == farthest)
    counts = [len(resets(run)) for run in group.runs]
    times = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    who = "The policy went" if len(far) == 1 else f"{shorten(farthest)} went farthest:"
    return f"{who} up to {number(far[farthest])} nats from its reference; resets: {times}"


@told_of
def in_thirds(groups: Sequence[Group], key: str, subject: str, form: Format = number) -> str:
    """The metric's mean in the first and in the last third, for what each reset sets back; of several groups the last.

    A value of a single step would say more about how long ago the last reset was.
    """
    bands = bands_of(groups, key)
    if len(bands) > 1:
        return f"{subject} in the last third: {rank({k: last_third(band) for k, band in bands.items()}, '', form)}"
    for band in bands.values():
        first = fmean(band.mean[: third(band)])
        return f"{subject}: {form(first)} in the first third, {form(last_third(band)[1])} in the last"
    return ""


@told_of
def separation(groups: Sequence[Group], right: str, wrong: str, subject: str, gap: str, unit: str = "") -> str:
    """What right and what wrong responses have in the last third; of several groups the distance of the two.

    Args:
        right, wrong: the metrics.
        subject: what they are.
        gap: what the one less the other is.
        unit: with its leading space.
    """
    rights, wrongs = bands_of(groups, right), bands_of(groups, wrong)
    ends = {label: (last_third(rights[label]), last_third(wrongs[label])) for label in rights if label in wrongs}
    if len(ends) > 1:
        gaps = {label: (r[0] - w[2], r[1] - w[1], r[2] - w[0]) for label, (r, w) in ends.items()}
        return f"{gap}, last third: {rank(gaps, unit, number)}"
    for one, other in ends.values():
        return f"{subject} in the last third: {number(one[1])}{unit} for right, {number(other[1])} for wrong"
    return ""


@told_of
def phases(groups: Sequence[Group], total: str, parts: Mapping[str, str]) -> str:
    """How long a step takes, and what most of that goes to.

    Args:
        total: seconds of a step.
        parts: seconds of a phase -> what it is called.
    """
    bands = bands_of(groups, total)
    if len(bands) > 1:
        return typical(total, "time of a step", " s")(groups)
    ((label, band),) = bands.items()
    (group,) = (group for group in groups if group.label == label)
    text = f"A step takes {number(median(band.mean))} s (median)"
    seconds = {name: sum(group.band(key).mean) for key, name in parts.items()}
    most = max(seconds, key=lambda name: seconds[name])
    return f"{text}, {seconds[most] / sum(band.mean):.0%} of it {most}" if seconds[most] else text


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
    bands = {name: groups[0].band(key) for key, name in parts.items()}
    seen = {name: band for name, band in bands.items() if any(band.mean)}
    largest = sorted(seen, key=lambda name: max(seen[name].mean), reverse=True)[:MOST_PARTS]
    ends = (f"{name} {share(band.mean[0])} → {share(band.mean[-1])}" for name, band in seen.items() if name in largest)
    return f"{subject}: {', '.join(ends)}"


def bands_of(groups: Sequence[Group], *keys: str) -> dict[str, Band]:
    """Label -> the metric, or the mean of several, of the groups that have it."""
    bands = {group.label: group.band(*keys) for group in groups}
    return {label: band for label, band in bands.items() if band.steps}


def tell(bands: Mapping[str, Band], subject: str, unit: str, form: Format) -> str:
    """What one curve did; where several were at the last step that all have; nothing without such a step."""
    if len(bands) == 1:
        (band,) = bands.values()
        return f"{subject} {describe(band.steps, band.mean, unit, form)}"
    if not bands:
        return ""
    axis = next(iter(bands.values())).axis
    if axis.metric:
        # As far as all have come, each has the last value that it had until then.
        common = min(band.places[-1] for band in bands.values())
        last = {label: bisect_right(band.places, common) - 1 for label, band in bands.items()}
        if min(last.values()) < 0:
            return ""
        where = axis.after.format(amount(common))
    else:
        steps = set.intersection(*(set(band.steps) for band in bands.values()))
        if not steps:
            return ""
        last = {label: band.steps.index(max(steps)) for label, band in bands.items()}
        where = f"at step {max(steps)}"
    ends = {label: _at(band, last[label]) for label, band in bands.items()}
    return f"{subject} {where}: {rank(ends, unit, form)}"


def third(band: Band) -> int:
    """How many of its points are a third of them."""
    return math.ceil(len(band.steps) / 3)


def last_third(band: Band) -> tuple[float, float, float]:
    """The mean over the last third, between the ends of its interval."""
    return _interval(band, *(fmean(column[-third(band) :]) for column in (band.low, band.mean, band.high)))


def _at(band: Band, place: int) -> tuple[float, float, float]:
    """The mean at one of its steps, between the ends of its interval."""
    return _interval(band, band.low[place], band.mean[place], band.high[place])


def _interval(band: Band, low: float, mean: float, high: float) -> tuple[float, float, float]:
    """A mean between the ends of its interval: over the runs, or as far as the noise of a single run reaches."""
    if band.runs > 1:
        return over_runs(low, mean, high, band.runs)
    noise = CLEAR / 2 * wobble(band.mean)
    return mean - noise, mean, mean + noise


def over_runs(low: float, mean: float, high: float, runs: int) -> tuple[float, float, float]:
    """The mean between the ends of its 95% interval, of two runs or more, by their range."""
    half = RANGES[min(runs, max(RANGES))] * (high - low)
    return mean - half, mean, mean + half


def rank(values: Mapping[str, tuple[float, float, float]], unit: str, form: Format) -> str:
    """Who is highest and who is lowest, unless their intervals overlap.

    Args:
        values: of two or more: label -> (lower end, value, upper end).
        unit: of the values, with its leading space.
        form: a value as text.
    """
    order = sorted(values, key=lambda label: values[label][1], reverse=True)
    top, bottom = order[0], order[-1]
    high, low = form(values[top][1]), form(values[bottom][1])
    if values[top][0] <= values[bottom][2] or low == high:
        return f"no clear difference ({high if low == high else f'{low} to {high}'}{unit})"
    if len(order) == 2:
        return f"{high}{unit} for {shorten(top)}, {low} for {shorten(bottom)}"
    leaders = [shorten(label) for label in order if values[label][2] >= values[top][0]]
    who = " and ".join(leaders) if len(leaders) <= MOST_LEADERS else f"{len(leaders)} of {len(order)} about equally"
    return f"{who} highest ({high}{unit}; lowest {low})"


def capital(text: str) -> str:
    """The text with a capital first letter, and the others as they are."""
    return text[0].upper() + text[1:]
