"""The pass rates on held-out problems, by the source of the problems."""

import re
from collections.abc import Iterable, Sequence

from pacs.report.findings import bands_of, share, tell, told_of, way
from pacs.report.run_groups import Group
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


def smallest_and_largest(statistics: Iterable[str]) -> list[str]:
    """The first and the last of what ascends in k, or the one that there is."""
    first, *others = statistics
    return [first, *others[-1:]]


def glance(sources: Sources, *, several_groups: bool) -> dict[str, tuple[str, ...]]:
    """What the overview has room for: label -> the keys whose mean is drawn.

    Of one source its smallest and largest k; of several each one's smallest, or for several groups the mean of those.
    """
    if len(sources) == 1:
        ((source, keys),) = sources.items()
        return {f"{source} {statistic}": (keys[statistic],) for statistic in smallest_and_largest(keys)}
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
    statistics = {statistic for statistic, _ in first.values()}
    what = statistics.pop() if len(statistics) == 1 else quantity
    of = f"on {next(iter(first))}" if len(first) == 1 else f"of {len(first)} sources"
    subject = f"{what.capitalize() if len(first) == 1 else f'Mean {what}'} {of}"
    bands = bands_of(groups, *(key for _, key in first.values()))
    text = tell(bands, subject, "", share)
    (of_one,) = sources.values() if len(sources) == 1 else ({},)
    if len(bands) == 1 and len(of_one) > 1:
        *_, (last, key) = of_one.items()
        at_last = bands_of(groups, key)
        if at_last.keys() == bands.keys():  # other groups may have another k alone
            (band,) = at_last.values()
            text += f"; {last}: {way(band, share)}"
    return text
