"""Evaluations side by side, problem by problem, as Markdown and as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pacs.base.errors import UserError
from pacs.base.markdown import interval, percent, table
from pacs.base.statistics import Estimate, estimate
from pacs.base.terminal import visible
from pacs.evaluation.grading import NOT_RECORDED, differences
from pacs.evaluation.reported import Reported, remarks
from pacs.evaluation.results import Evaluation
from pacs.evaluation.summary import pass_at_ks, pass_at_values

#: Most problems that an error names.
NAMED = 3
EXPLANATION = "pass@k in percent, with the 95% interval of the bootstrap over problems."
DIFFERENCES = "Differences are to {first}, problem by problem (paired bootstrap); `*` where the interval excludes 0."


@dataclass(frozen=True)
class TaskComparison:
    """One task.

    Attributes:
        task: its name.
        problems: how many it has.
        pass_at: label -> k -> pass@k.
        differences: label, of all but the first evaluation -> k -> its pass@k less the first one's.
    """

    task: str
    problems: int
    pass_at: dict[str, dict[int, Estimate]]
    differences: dict[str, dict[int, Estimate]]


def compare(evaluations: Sequence[Evaluation], ks: Sequence[int] | None = None) -> list[TaskComparison]:
    """pass@k of the tasks that all evaluations have, with paired differences to the first.

    A difference's interval is that of the paired bootstrap: each draw of problems is the same for both.

    Args:
        evaluations: one or more.
        ks: of pass@k; None: those of their results that all have samples enough for.

    Raises:
        UserError: no task in common, a task whose problems are not the same, a k larger than the samples.
    """
    shared = common_tasks({evaluation.label: evaluation.tasks for evaluation in evaluations})
    return [_compare_task(task, evaluations, ks) for task in shared]


def _compare_task(task: str, evaluations: Sequence[Evaluation], ks: Sequence[int] | None) -> TaskComparison:
    results = {evaluation.label: evaluation.tasks[task] for evaluation in evaluations}
    fewest = min(results, key=lambda label: results[label].samples)
    samples = results[fewest].samples
    if ks is None:
        ks = sorted({k for result in results.values() for k in result.pass_at if k <= samples})
    elif max(ks) > samples:
        raise UserError(
            f"--k {max(ks)} is more than the {samples} samples a problem of {task} in {fewest}: give a smaller k"
        )
    first, *others = results
    by_id = {label: {count.id: count for count in result.problems} for label, result in results.items()}
    check_same_problems(task, {label: {i: count.gold for i, count in own.items()} for label, own in by_id.items()})
    counts = {label: [own[i] for i in by_id[first]] for label, own in by_id.items()}
    return TaskComparison(
        task=task,
        problems=len(counts[first]),
        pass_at={label: pass_at_ks(counts[label], ks) for label in results},
        differences={
            label: {k: estimate(pass_at_values(counts[label], k) - pass_at_values(counts[first], k)) for k in ks}
            for label in others
        },
    )


def common_tasks(tasks: Mapping[str, Iterable[str]]) -> list[str]:
    """The tasks that all evaluations have.

    Args:
        tasks: of each evaluation, by its label.

    Raises:
        UserError: there is none.
    """
    first, *others = tasks.values()
    common = [task for task in first if all(task in other for other in others)]
    if not common:
        has = "; ".join(f"{label} has {', '.join(own)}" for label, own in tasks.items())
        raise UserError(f"no task in common: {has}")
    return common


def check_same_problems(task: str, golds: Mapping[str, Mapping[str, str]]) -> None:
    """Hold the problems of a task in each evaluation against those of the first.

    Args:
        task: its name.
        golds: label of an evaluation -> problem -> what is right, or its hash.

    Raises:
        UserError: they are not the same.
    """
    (first, ours), *others = golds.items()
    for label, theirs in others:
        differing = {
            f"only {first} has": [i for i in ours if i not in theirs],
            f"only {label} has": [i for i in theirs if i not in ours],
            "of another right answer": [i for i in ours if i in theirs and theirs[i] != ours[i]],
        }
        if said := "; ".join(f"{what} {_some(problems)}" for what, problems in differing.items() if problems):
            raise UserError(
                f"{task} has other problems in {label} than in {first} ({said}): evaluate both on one data file"
            )


def _some(problems: Sequence[str]) -> str:
    more = f" and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
    return ", ".join(problems[:NAMED]) + more


def notes(evaluations: Sequence[Evaluation], shared: Sequence[str]) -> list[str]:
    """What is not the same in the evaluations, other than the model: a sentence each.

    Args:
        evaluations: to be compared.
        shared: their common tasks.
    """
    said = []
    settings = [dict(_decisive(evaluation, shared)) for evaluation in evaluations]
    for key in dict.fromkeys(key for one in settings for key in one):
        values = [one.get(key) for one in settings]
        if any(value != values[0] for value in values):
            each = ", ".join(f"{value} ({e.label})" for value, e in zip(values, evaluations, strict=True))
            said.append(f"{key} differs: {each}.")
    said += grading_notes({evaluation.label: evaluation.settings.get("grading") for evaluation in evaluations})
    for evaluation in evaluations:
        if left_out := [task for task in evaluation.tasks if task not in shared]:
            said.append(f"Only some have {', '.join(left_out)} ({evaluation.label}): left out.")
    return said


def grading_notes(gradings: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    """Where samples were not graded by the same settings of the verifiers, or nobody knows: a sentence each.

    Args:
        gradings: label of an evaluation -> its `Grading` as JSON has it, None where none was written down.
    """
    unknown = [label for label, grading in gradings.items() if grading is None]
    said = [f"{NOT_RECORDED}: {', '.join(unknown)} (`pacs evaluate grade` grades them again)."] if unknown else []
    (first, one), *others = [(label, grading) for label, grading in gradings.items() if grading] or [("", {})]
    for label, other in others:
        for name, was, is_now in differences(one["verifiers"], other["verifiers"]):
            said.append(f"grading: {name} differs: {was} ({first}), {is_now} ({label}).")
    return said


def _decisive(evaluation: Evaluation, shared: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """What decides the samples beside the model."""
    for part in ("sampling", "versions"):
        for key, value in evaluation.settings.get(part, {}).items():
            yield f"{part}.{key}", value
    for task in shared:
        yield f"{task}: samples a problem", evaluation.tasks[task].samples
        yield f"{task}: sha256 of the data", evaluation.settings.get("tasks", {}).get(task, {}).get("sha256")


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
        sources = [f"- {c.name} (reported): {c.source}, {', '.join(c.tables)}." for c in columns]
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
    rows += [
        [f"{c.name} (reported)", *_with_mean([c.pass_at.get(task.task, {}).get(1) for task in tasks])] for c in columns
    ]
    return table(["", *(task.task for task in tasks), "mean"], rows)


def _with_mean(shares: Sequence[float | None]) -> list[str]:
    mean = None if None in shares else sum(share or 0 for share in shares) / len(shares)
    return [percent(share) for share in (*shares, mean)]


def _block(task: TaskComparison, columns: Sequence[Reported]) -> str:
    rows, first = [], next(iter(task.pass_at))
    ks = list(task.pass_at[first])
    for label, estimates in task.pass_at.items():
        rows.append([label, *(interval(estimates[k]) for k in ks)])
        if label in task.differences:
            rows.append([f"{label} − {first}", *(_difference(task.differences[label][k], task.problems) for k in ks)])
    for column in columns:
        at = column.pass_at.get(task.task, {})
        rows.append([f"{column.name} (reported)", *(percent(at.get(k)) for k in ks)])
    return table(["", *(f"pass@{k}" for k in ks)], rows)


def _difference(value: Estimate, problems: int) -> str:
    low, mean, high = (f"{100 * share:+.2f}" for share in (value.low, value.mean, value.high))
    return f"{mean} [{low}, {high}]{' *' if value.excludes_zero and problems > 1 else ''}"
