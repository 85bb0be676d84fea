"""The implicit critic's reliability: in each bin of sigma(psi), the share of responses that are right."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pacs.report.findings import Interval, over_runs, rank, share
from pacs.report.groups import Group
from pacs.runs.read import Run

BINS = 10
ROWS = "pacs/critic/bin_{}/rows_count"
PROBABILITY = "pacs/critic/bin_{}/probability_mean"
CORRECT = "pacs/critic/bin_{}/correct_fraction"


class Bin(NamedTuple):
    """The rows of a bin: mean sigma(psi), share that is right, how many."""

    probability: float
    correct: float
    rows: float


def thirds(group: Group) -> list[tuple[int, int]]:
    """The first and the last third of the steps at which every run has bins that has any, each as its first and last
    step; one step is both."""
    keys = group.keys(ROWS.format("*"))
    found = [
        {step for key in keys for step, rows in zip(*run.series(key), strict=True) if rows > 0} for run in group.runs
    ]
    having = [steps for steps in found if steps]
    steps = sorted(set.intersection(*having)) if having else []
    if not steps:
        return []
    size = math.ceil(len(steps) / 3)
    return list(dict.fromkeys([(steps[0], steps[size - 1]), (steps[-size], steps[-1])]))


def pooled(runs: Iterable[Run], first: int, last: int) -> list[Bin]:
    """The bins that have rows, over the steps from `first` to `last` of all runs."""
    rows_of = [row for run in runs for step, row in run.steps.items() if first <= step <= last]
    bins = []
    for number in range(BINS):
        counts = [(row, row.get(ROWS.format(number), 0.0)) for row in rows_of]
        total = sum(count for _, count in counts)
        if total > 0:
            means = [
                sum(count * row[key.format(number)] for row, count in counts if count) / total
                for key in (PROBABILITY, CORRECT)
            ]
            bins.append(Bin(means[0], means[1], total))
    return bins


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: the distance of a bin's two numbers, averaged over rows."""
    return sum(row.rows * abs(row.probability - row.correct) for row in bins) / sum(row.rows for row in bins)


def finding(groups: Sequence[Group]) -> str:
    """How far sigma(psi) is from the share of right responses in the last third of the run."""
    late = {group.label: (group, thirds(group)[-1]) for group in groups if thirds(group)}
    if len(late) > 1:
        errors = {}
        for label, (group, span) in late.items():
            of_runs = [calibration_error(bins) for bins in (pooled([run], *span) for run in group.runs) if bins]
            of_all = calibration_error(pooled(group.runs, *span))
            errors[label] = Interval(of_all, of_all, of_all)
            if len(of_runs) > 1:
                errors[label] = over_runs(min(of_runs), of_all, max(of_runs), len(of_runs))
        return f"Calibration error in the last third: {rank(errors, '', share)}"
    ((group, span),) = late.values()
    bins = pooled(group.runs, *span)
    total = sum(row.rows for row in bins)
    said = sum(row.rows * row.probability for row in bins) / total
    right = sum(row.rows * row.correct for row in bins) / total
    error = share(calibration_error(bins))
    return f"σ(ψ) averages {share(said)} where {share(right)} are right: ECE {error} ({steps_text(*span)})"


def steps_text(first: int, last: int) -> str:
    """A range of steps in words."""
    return f"step {first}" if first == last else f"steps {first} to {last}"
