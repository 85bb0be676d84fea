"""Runs of one experiment are a group: those that differ in nothing but seeds, names, folders and how they are kept.

A group is drawn as the mean of its runs with a band from the lowest to the highest.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

from pacs.base.errors import UserError
from pacs.base.settings import differing, short_names, shown
from pacs.runs.read import Run, is_usable
from pacs.verl_keys import names
from pacs.verl_keys.metrics import STEP_SECONDS

#: 1 in the steps after which the reference was replaced by the policy.
RESET = "pacs/reference/reset_count"

#: Settings (globs) that do not make another experiment: verl's, and how a run of ours is seeded, kept and watched.
INCIDENTAL = (
    *names.INCIDENTAL,
    "run.rollouts.seeded",
    "run.dir",
    "run.faults.*",
    "method.metrics.*",
    "run.resume.*",
    "run.sample_groups",
)
IS_INCIDENTAL = re.compile("|".join(map(translate, INCIDENTAL)))

#: In every other setting (a path, as a rule) and in names, the number of a seed is not read.
SEED_NUMBER = re.compile(r"(?i)(seed[-_=]?)\d+")

LABEL_SETTINGS = 2
LABEL_CHARS = 40


class Axis(NamedTuple):
    """What curves are drawn over.

    Attributes:
        label: of the horizontal axis.
        metric: what is added up over the steps; empty: the step itself.
        end: a place on it, in words.
    """

    label: str
    metric: str = ""
    end: str = "step {}"


AXES = {
    "steps": Axis("training step"),
    "tokens": Axis("generated tokens", "pacs/response_tokens/generated_sum", "{} generated tokens"),
    "seconds": Axis("seconds of training", STEP_SECONDS, "{} s of training"),
}


class Band(NamedTuple):
    """A metric of a group over the steps, ascending: mean, lowest and highest of so many of its runs.

    `places` are those of the steps on the `axis`, ascending too.
    """

    steps: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    runs: int
    places: tuple[float, ...]
    axis: Axis


@dataclass(frozen=True)
class Group:
    """Runs of one experiment, what tells it from the other groups, and what it is drawn over."""

    label: str
    runs: tuple[Run, ...]
    axis: Axis = AXES["steps"]

    @cached_property
    def places_of_runs(self) -> list[dict[int, float]]:
        """Of each run: step -> its place on the axis, ascending.

        Raises:
            UserError: a step of a run lacks what is added up.
        """
        return [_places(run, self.axis) for run in self.runs]

    @cached_property
    def places(self) -> dict[int, float]:
        """Step -> the mean of its places in the runs that have it; raises as `places_of_runs`."""
        found = self.places_of_runs
        steps = sorted({step for places in found for step in places})
        return {step: fmean(places[step] for places in found if step in places) for step in steps}

    def band(self, *keys: str) -> Band:
        """One metric, or the mean of several, at the steps that every run has which logs it at all, and where these
        runs have them in the mean."""
        of_runs = zip(self.places_of_runs, (_mean_of(run, keys) for run in self.runs), strict=True)
        found = [(places, series) for places, series in of_runs if series]
        steps = sorted(set.intersection(*(set(series) for _, series in found))) if found else []
        columns = [[series[step] for _, series in found] for step in steps]
        mean, low, high = (tuple(reduce(column) for column in columns) for reduce in (fmean, min, max))
        at = tuple(fmean(places[step] for places, _ in found) for step in steps)
        return Band(tuple(steps), mean, low, high, len(found), at, self.axis)

    def keys(self, pattern: str = "*") -> list[str]:
        """The metrics that match a glob and have a value in some run, sorted."""
        return sorted({key for run in self.runs for key in run.keys(pattern)})

    @property
    def resets(self) -> list[int]:
        """The steps after which the reference of a run became the policy; of runs where each step is one, none."""
        return sorted({step for run in self.runs if not _resets_always(run) for step in resets(run)})

    @property
    def reference_sampled(self) -> bool:
        """Whether the reference was always the policy that sampled, since every step reset it."""
        return all(_resets_always(run) for run in self.runs)


def _places(run: Run, axis: Axis) -> dict[int, float]:
    if not axis.metric:
        return {step: float(step) for step in run.steps}
    trained = [step for step, row in run.steps.items() if STEP_SECONDS in row] or list(run.steps)[-1:]
    if lacking := [step for step in trained if not is_usable(run.steps[step].get(axis.metric, math.nan))]:
        why = "is no number" if axis.metric in run.steps[lacking[0]] else "was not logged yet"
        raise UserError(
            f"{run.path}: step {lacking[0]} has no {axis.metric} (it {why}): draw this run over steps, without --over"
        )
    sums = accumulate(row.get(axis.metric, 0.0) for row in run.steps.values())
    return dict(zip(run.steps, sums, strict=True))


def _resets_always(run: Run) -> bool:
    return len(resets(run)) >= len(run.steps.keys() - {0})


def resets(run: Run) -> list[int]:
    """The steps after which the reference became the policy."""
    return [step for step, count in zip(*run.series(RESET), strict=True) if count > 0]


def experiment(run: Run) -> dict[str, str]:
    """The settings that say which experiment a run is of."""
    settings = shown(run.config).items()
    return {key: SEED_NUMBER.sub(r"\1*", value) for key, value in settings if not IS_INCIDENTAL.match(key)}


def _mean_of(run: Run, keys: Sequence[str]) -> dict[int, float]:
    """Step -> mean of the metrics, where the run has all of them."""
    found = [dict(zip(*run.series(key), strict=True)) for key in keys]
    return {step: fmean(series[step] for series in found) for step in found[0] if all(step in s for s in found)}


def group_runs(runs: Sequence[Run], *, each: bool = False, axis: Axis = AXES["steps"]) -> list[Group]:
    """Put runs of equal experiments together, in the order of their first runs.

    Args:
        runs: as `read_runs` gives them.
        each: make every run a group of its own.
        axis: what they are drawn over.
    """
    together: dict[object, list[Run]] = {}
    for run in runs:
        alone = each or not run.config  # of a run without settings nobody knows what it is
        together.setdefault(run.name if alone else frozenset(experiment(run).items()), []).append(run)
    groups = list(together.values())
    labels = _names(groups) if each or len(groups) == 1 else _by_settings(groups) or _names(groups)
    return [Group(label, tuple(members), axis) for label, members in zip(labels, groups, strict=True)]


def _by_settings(groups: Sequence[Sequence[Run]]) -> list[str]:
    """What each group has set otherwise; nothing where that is too much for a legend."""
    table = differing({str(index): experiment(members[0]) for index, members in enumerate(groups)})
    if not 1 <= len(table) <= LABEL_SETTINGS:
        return []
    short = short_names(table)
    labels = [
        ", ".join(f"{short[key]}={'–' if row[str(index)] is None else row[str(index)]}" for key, row in table.items())
        for index in range(len(groups))
    ]
    return labels if max(map(len, labels)) <= LABEL_CHARS else []


def _names(groups: Sequence[Sequence[Run]]) -> list[str]:
    """The run's name; for several runs what their names have in common, if that is all but the seed."""
    common = [{SEED_NUMBER.sub(r"\1*", run.name) for run in members} for members in groups]
    names = [
        members[0].name if len(members) == 1 else next(iter(shared)) if len(shared) == 1 else ""
        for members, shared in zip(groups, common, strict=True)
    ]
    return [
        name if name and names.count(name) == 1 else f"{members[0].name} and {len(members) - 1} more"
        for name, members in zip(names, groups, strict=True)
    ]
