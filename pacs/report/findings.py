"""What a figure's title says: found in the data that the figure shows, and no more than they show."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from pacs.report.groups import Band, Group, resets
from pacs.report.trends import CLEAR, Format, describe, number, share, wobble

Finding = Callable[[Sequence[Group]], str]
"""From the groups to a sentence without its full stop; empty where none has the metric that it would be about."""

LABEL_CHARS = 26


def change(key: str, subject: str, unit: str = "", form: Format = number) -> Finding:
    """What the metric did over the run; of several groups, where each ended."""

    def find(groups: Sequence[Group]) -> str:
        return tell(bands_of(groups, key), subject, unit, form)

    return find


def typical(key: str, subject: str, unit: str = "") -> Finding:
    """The metric's median and its largest value, for what has no direction; of several groups their medians."""

    def find(groups: Sequence[Group]) -> str:
        bands = bands_of(groups, key)
        if len(bands) > 1:
            medians = {label: (median(band.low), median(band.mean), median(band.high)) for label, band in bands.items()}
            return f"{subject}, median: {rank(medians, number)}{unit}"
        (band,) = bands.values()
        most = max(band.high)
        where = band.steps[band.high.index(most)]
        return f"{subject}: median {number(median(band.mean))}{unit}, at most {number(most)} (step {where})"

    return find


def distance(key: str) -> Finding:
    """How far the policy went from its reference, and how often that was set to the policy."""

    def find(groups: Sequence[Group]) -> str:
        far = {label: max(band.mean) for label, band in bands_of(groups, key).items()}
        farthest = max(far, key=lambda label: far[label])
        (group,) = (group for group in groups if group.label == farthest)
        counts = [len(resets(run)) for run in group.runs]
        times = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
        who = "The policy went" if len(far) == 1 else f"{short(farthest)} went farthest:"
        return f"{who} up to {number(far[farthest])} nats from its reference; resets: {times}"

    return find


def separation(right: str, wrong: str, statistic: str) -> Finding:
    """The scores of right and of wrong responses at the last step that has both.

    Args:
        right, wrong: the metrics.
        statistic: what they are of the scores, "median" say.
    """

    def find(groups: Sequence[Group]) -> str:
        ends = {}
        for group in groups:
            highs, lows = (dict(zip(*group.band(key)[:2], strict=True)) for key in (right, wrong))
            if both := highs.keys() & lows.keys():
                ends[group.label] = (max(both), highs[max(both)], lows[max(both)])
        if not ends:
            return ""
        best = max(ends, key=lambda label: ends[label][1] - ends[label][2])
        step, high, low = ends[best]
        if len(ends) == 1:
            return f"At step {step} the {statistic} score of right responses is {number(high)}, of wrong {number(low)}"
        return f"{short(best)} sets right and wrong farthest apart: {statistic}s by {number(high - low)} at step {step}"

    return find


def phases(total: str, parts: Mapping[str, str]) -> Finding:
    """How long a step takes, and what most of that goes to.

    Args:
        total: seconds of a step.
        parts: seconds of a phase -> what it is called.
    """

    def find(groups: Sequence[Group]) -> str:
        bands = bands_of(groups, total)
        if len(bands) > 1:
            return typical(total, "A step", " s")(groups)
        ((label, band),) = bands.items()
        (group,) = (group for group in groups if group.label == label)
        text = f"A step takes {number(median(band.mean))} s (median)"
        seconds = {name: sum(group.band(key).mean) for key, name in parts.items()}
        most = max(seconds, key=lambda name: seconds[name])
        return f"{text}, {seconds[most] / sum(band.mean):.0%} of it {most}" if seconds[most] else text

    return find


def shares(parts: Mapping[str, str], contested: str) -> Finding:
    """From where to where the shares of a whole went; of several groups, one of them.

    Args:
        parts: share -> what it is called.
        contested: the share that tells groups apart.
    """

    def find(groups: Sequence[Group]) -> str:
        if len(groups) > 1:
            return tell(bands_of(groups, contested), f"Share of “{parts[contested]}”", "", share)
        bands = {name: groups[0].band(key) for key, name in parts.items()}
        seen = {name: band for name, band in bands.items() if any(band.mean)}
        return ", ".join(f"{name} {share(band.mean[0])} → {share(band.mean[-1])}" for name, band in seen.items())

    return find


def bands_of(groups: Sequence[Group], *keys: str) -> dict[str, Band]:
    """Label -> the metric, or the mean of several, of the groups that have it."""
    bands = {group.label: group.band(*keys) for group in groups}
    return {label: band for label, band in bands.items() if band.steps}


def tell(bands: Mapping[str, Band], subject: str, unit: str, form: Format) -> str:
    """What one curve did; where several were at the last step that all have; nothing without such a step."""
    if len(bands) == 1:
        (band,) = bands.values()
        return f"{subject} {describe(band.steps, band.mean, unit, form)}"
    common = set.intersection(*(set(band.steps) for band in bands.values())) if bands else set()
    if not common:
        return ""
    ends = {label: _at(band, max(common)) for label, band in bands.items()}
    return f"{subject} at step {max(common)}: {rank(ends, form)}{unit}"


def _at(band: Band, step: int) -> tuple[float, float, float]:
    """Lowest, mean and highest at a step; a single run's as far as its noise reaches, half of a clear change."""
    place = band.steps.index(step)
    noise = CLEAR / 2 * wobble(band.mean) if band.low == band.high else 0.0
    return band.low[place] - noise, band.mean[place], band.high[place] + noise


def rank(values: Mapping[str, tuple[float, float, float]], form: Format) -> str:
    """Who is highest and who is lowest, unless their intervals overlap.

    Args:
        values: of two or more: label -> (lower end, value, upper end).
        form: a value as text.
    """
    order = sorted(values, key=lambda label: values[label][1], reverse=True)
    top, bottom = order[0], order[-1]
    high, low = form(values[top][1]), form(values[bottom][1])
    is_clear = values[top][0] > values[bottom][2]
    if len(order) == 2:
        return f"{short(top)} {high}, {short(bottom)} {low}" + ("" if is_clear else " (no clear difference)")
    if not is_clear:
        return f"no clear difference, {low} to {high}"
    close = sum(values[label][2] >= values[top][0] for label in order[1:])
    near = f" ({close} close to it)" if close else ""
    return f"{short(top)} highest, {high}{near}; {short(bottom)} lowest, {low}"


def short(label: str) -> str:
    """A label that leaves room for the rest of a title."""
    return label if len(label) <= LABEL_CHARS else "…" + label[1 - LABEL_CHARS :]
