"""A comparison as Markdown and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pacs.base.markdown import interval, percent, table
from pacs.base.statistics import Estimate
from pacs.base.terminal import visible
from pacs.evaluation.compare import Evaluation, TaskComparison
from pacs.evaluation.reported import Reported, remarks

EXPLANATION = "pass@k in percent, with the 95% interval of the bootstrap over problems."
DIFFERENCES = """\
Differences are to {first}, problem by problem (the paired bootstrap), and marked `*` where the interval excludes 0."""


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
        parts.append("**Not everything but the model is the same:**\n\n" + "\n".join(f"- {note}" for note in notes))
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
        sources = [f"- {_reported(c)}: {c.source}, {', '.join(c.tables)}." for c in columns]
        parts += ["## Reported", "\n".join([*sources, *(f"- {remark}" for remark in remarks())])]
    return visible("\n\n".join(parts)) + "\n"


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
    """The paper's Table 1: benchmarks as columns, and their mean."""
    rows = [[e.label, *_with_mean([e.tasks[task.task].accuracy.mean for task in tasks])] for e in evaluations]
    rows += [[_reported(c), *_with_mean([c.pass_at.get(task.task, {}).get(1) for task in tasks])] for c in columns]
    return table(["", *(task.task for task in tasks), "mean"], rows)


def _with_mean(shares: Sequence[float | None]) -> list[str]:
    known = [share for share in shares if share is not None]
    mean = sum(known) / len(known) if len(known) == len(shares) else None
    return [percent(share) for share in (*shares, mean)]


def _block(task: TaskComparison, columns: Sequence[Reported]) -> str:
    first = next(iter(task.pass_at))
    ks = list(task.pass_at[first])
    rows = []
    for label, estimates in task.pass_at.items():
        rows.append([label, *(interval(estimates[k]) for k in ks)])
        if label in task.differences:
            rows.append([f"{label} − {first}", *(_difference(task.differences[label][k], task.problems) for k in ks)])
    for column in columns:
        at = column.pass_at.get(task.task, {})
        rows.append([_reported(column), *(percent(at.get(k)) for k in ks)])
    return table(["", *(f"pass@{k}" for k in ks)], rows)


def _difference(value: Estimate, problems: int) -> str:
    low, mean, high = (f"{100 * share:+.2f}" for share in (value.low, value.mean, value.high))
    return f"{mean} [{low}, {high}]{' *' if value.excludes_zero and problems > 1 else ''}"


def _reported(column: Reported) -> str:
    return f"{column.name} (reported)"
