"""The pass rates on held-out problems, by the source of the problems."""

import re
from collections.abc import Sequence

from pacs.report.findings import bands_of, capital, tell, told_of
from pacs.report.groups import Group
from pacs.report.trends import describe, share
from pacs.verl_keys.metrics import VALIDATION

PASS_AT_K = "pacs/validation/*/pass@*"
NAME = re.compile(
    rf"(?:pacs/validation/(?P<ours>.+)|{VALIDATION}(?P<verls>.+)/(?P<variable>[^/]+))/(?P<statistic>\w+@\d+)"
)

#: Source -> statistic, ascending in k -> key.
Sources = dict[str, dict[str, str]]


def sources_of(groups: Sequence[Group], pattern: str) -> Sources:
    """The keys that match a pattern and can be drawn, by source.

    A statistic that a source has of two variables is named after both.
    """
    found: dict[str, dict[tuple[int, str, str], str]] = {}
    for key in sorted({key for group in groups for key in group.keys(pattern)}):
        match = NAME.fullmatch(key)
        if match and any(group.band(key).steps for group in groups):
            k = int(match["statistic"].split("@")[1])
            found.setdefault(match["ours"] or match["verls"], {})[k, match["statistic"], match["variable"] or ""] = key
    return {source: _named(keys) for source, keys in found.items()}


def _named(keys: dict[tuple[int, str, str], str]) -> dict[str, str]:
    statistics = [statistic for _, statistic, _ in keys]
    return {
        statistic if statistics.count(statistic) == 1 else f"{variable} {statistic}": key
        for (_, statistic, variable), key in sorted(keys.items())
    }


def shared(sources: Sources, groups: Sequence[Group]) -> Sources:
    """The sources that every group has which validates at all, so that means can be compared; all, if there is none."""
    validating = [
        group for group in groups if any(group.band(key).steps for keys in sources.values() for key in keys.values())
    ]
    found = {
        source: keys
        for source, keys in sources.items()
        if all(any(group.band(key).steps for key in keys.values()) for group in validating)
    }
    return found or sources


def glance(sources: Sources, *, several_groups: bool) -> dict[str, tuple[str, ...]]:
    """What the overview has room for: label -> the keys whose mean is drawn.

    Of one source its smallest and largest k; of several each one's smallest, or for several groups the mean of those.
    """
    if len(sources) == 1:
        ((source, keys),) = sources.items()
        ends = dict.fromkeys((next(iter(keys)), list(keys)[-1]))
        return {f"{source} {statistic}": (keys[statistic],) for statistic in ends}
    first = {source: next(iter(keys.items())) for source, keys in sources.items()}
    if several_groups:
        return {f"mean of {len(first)} sources": tuple(key for _, key in first.values())}
    return {f"{source} {statistic}": (key,) for source, (statistic, key) in first.items()}


@told_of
def outcome(groups: Sequence[Group], pattern: str, quantity: str = "pass rate") -> str:
    """What became of the smallest k, and of one source's largest; of several sources the mean.

    Args:
        pattern: of the keys.
        quantity: what they are, where sources do not have the same statistic.
    """
    sources = shared(sources_of(groups, pattern), groups)
    first = {source: next(iter(keys.items())) for source, keys in sources.items()}
    keys = [key for _, key in first.values()]
    statistics = {statistic for statistic, _ in first.values()}
    what = statistics.pop() if len(statistics) == 1 else quantity
    subject = f"{what} on {next(iter(first))}" if len(first) == 1 else f"Mean {what} of {len(first)} sources"
    bands = bands_of(groups, *keys)
    text = tell(bands, capital(subject), "", share)
    if len(bands) != 1:
        return text
    (own,) = sources.values() if len(sources) == 1 else ({},)
    if len(own) > 1:
        last = list(own)[-1]
        (band,) = bands_of(groups, own[last]).values()
        return f"{text}; {last} {describe(band.steps, band.mean, form=share)}"
    if len(sources) > 1:
        ends = [next(iter(bands_of(groups, key).values())).mean for key in keys]
        higher = sum(values[-1] > values[0] for values in ends)
        return f"{text}; {higher} of {len(ends)} ended higher"
    return text
