"""Evaluations side by side as Markdown and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacs.base.markdown import interval, percent, table
from pacs.base.statistics import Estimate, estimate_mean
from pacs.base.terminal import visible
from pacs.evaluation.compare import TaskComparison
from pacs.evaluation.reported import Reported, remarks
from pacs.evaluation.results import Evaluation
from pacs.evaluation.summary import pass_at_values

EXPLANATION = "pass@k in percent, with the 95% interval of the bootstrap over problems."
DIFFERENCES = "Differences are to {first}, problem by problem (paired bootstrap); `*` where the interval excludes 0."


def comparison_page(
    evaluations: Sequence[Evaluation],
    tasks: Sequence[TaskComparison],
    columns: Sequence[Reported],
    notes: Sequence[str],
) -> str:
    """The page as Markdown, with a newline at its end.

    Args:
        evaluations: that are compared.
        tasks: their comparison.
        columns: of the paper, to be shown beside.
        notes: what makes the comparison doubtful.
    """
    parts = ["# Comparison"]
    if notes:
        parts.append(unlike(notes))
    first, *others = evaluations
    parts += [
        EXPLANATION + (f"\n{DIFFERENCES.format(first=first.label)}" if others else ""),
        table(
            ["", "model", "sha256"],
            [[e.label, e.settings["model"]["name"], e.settings["model"]["sha256"][:12]] for e in evaluations],
        ),
        "## pass@1",
        _pass_at_1(evaluations, tasks, columns),
    ]
    for task in tasks:
        parts += [f"## {task.task}: {task.problems} problems", _block(task, columns)]
    if columns:
        sources = [f"- {c.name} (reported): {c.source}, {', '.join(c.tables)}." for c in columns]
        parts += ["## Reported", "\n".join([*sources, *(f"- {remark}" for remark in remarks())])]
    return visible("\n\n".join(parts)) + "\n"


def unlike(notes: Sequence[str]) -> str:
    """What makes a comparison doubtful, before its numbers; at least one sentence."""
    return "**Not everything but the model is the same:**\n\n" + "\n".join(f"- {note}" for note in notes)


def comparison_json(
    evaluations: Sequence[Evaluation],
    tasks: Sequence[TaskComparison],
    columns: Sequence[Reported],
    notes: Sequence[str],
) -> dict[str, Any]:
    """The same, for JSON; shares from 0 to 1."""
    return {
        "evaluations": [{"label": e.label, "folder": str(e.folder), "settings": e.settings} for e in evaluations],
        "notes": list(notes),
        "tasks": [asdict(task) for task in tasks],
        "reported": [asdict(column) for column in columns],
    }


def _pass_at_1(evaluations: Sequence[Evaluation], tasks: Sequence[TaskComparison], columns: Sequence[Reported]) -> str:
    """The paper's Table 1: benchmarks as columns, and their mean; then the differences to the first."""
    values = {e.label: _values(e, evaluations[0], tasks) for e in evaluations}
    rows = []
    for label, of_tasks in values.items():
        rows.append([label, *(percent(float(task.mean())) for task in of_tasks), interval(estimate_mean(of_tasks))])
    rows += [
        [f"{c.name} (reported)", *_with_mean([c.pass_at.get(task.task, {}).get(1) for task in tasks])] for c in columns
    ]
    (first, ours), *others = values.items()
    for label, theirs in others:
        gained = [other - one for one, other in zip(ours, theirs, strict=True)]
        fewest = min(map(len, gained))
        cells = [f"{100 * float(task.mean()):+.2f}" for task in gained]
        rows.append([f"{label} − {first}", *cells, difference_of(estimate_mean(gained), fewest)])
    return table(["", *(task.task for task in tasks), "mean"], rows)


def _values(evaluation: Evaluation, first: Evaluation, tasks: Sequence[TaskComparison]) -> list[NDArray[np.float64]]:
    """(P,) pass@1 of each task's problems, in the order of the first evaluation."""
    values = []
    for task in tasks:
        counts = {count.id: count for count in evaluation.tasks[task.task].problems}
        order = [counts[count.id] for count in first.tasks[task.task].problems]
        values.append(pass_at_values(order, 1))
    return values


def _with_mean(shares: Sequence[float | None]) -> list[str]:
    mean = None if None in shares else sum(share or 0 for share in shares) / len(shares)
    return [percent(share) for share in (*shares, mean)]


def _block(task: TaskComparison, columns: Sequence[Reported]) -> str:
    rows, first = [], next(iter(task.pass_at))
    ks = list(task.pass_at[first])
    for label, estimates in task.pass_at.items():
        rows.append([label, *(interval(estimates[k]) for k in ks)])
        if label in task.differences:
            rows.append([f"{label} − {first}", *(difference_of(task.differences[label][k], task.problems) for k in ks)])
    for column in columns:
        at = column.pass_at.get(task.task, {})
        rows.append([f"{column.name} (reported)", *(percent(at.get(k)) for k in ks)])
    return table(["", *(f"pass@{k}" for k in ks)], rows)


def difference_of(value: Estimate, problems: int) -> str:
    """In percent, marked where the interval excludes 0; of one problem nobody knows how far it may be off."""
    low, mean, high = (f"{100 * share:+.2f}" for share in (value.low, value.mean, value.high))
    return f"{mean} [{low}, {high}]{' *' if value.excludes_zero and problems > 1 else ''}"
