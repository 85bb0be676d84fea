"""Evaluations side by side, problem by problem."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.settings import flatten
from pacs.base.statistics import Estimate, estimate
from pacs.evaluation.grading import NOT_RECORDED, differences
from pacs.evaluation.results import Evaluation
from pacs.evaluation.settings import read_settings
from pacs.evaluation.summary import pass_at_ks, pass_at_values

#: Most problems that an error names.
NAMED = 3


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
    golds = {label: {i: count.gold for i, count in problems.items()} for label, problems in by_id.items()}
    check_same_problems(task, golds)
    counts = {label: [problems[i] for i in by_id[first]] for label, problems in by_id.items()}
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
        has = "; ".join(f"{label} has {', '.join(names)}" for label, names in tasks.items())
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
    said = setting_notes({evaluation.label: dict(_decisive(evaluation, shared)) for evaluation in evaluations})
    said += grading_notes({evaluation.label: evaluation.settings.get("grading") for evaluation in evaluations})
    for evaluation in evaluations:
        if left_out := [task for task in evaluation.tasks if task not in shared]:
            said.append(f"Only some have {', '.join(left_out)} ({evaluation.label}): left out.")
    return said


def setting_notes(settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is not the same in all settings: a sentence each.

    Args:
        settings: label of an evaluation -> setting -> value; nested ones by dotted keys.
    """
    said = []
    flat = {label: flatten(one) for label, one in settings.items()}
    for key in dict.fromkeys(key for one in flat.values() for key in one):
        values = [one.get(key) for one in flat.values()]
        if any(value != values[0] for value in values):
            each = ", ".join(f"{value} ({label})" for label, value in zip(flat, values, strict=True))
            said.append(f"{key} differs: {each}.")
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


def folder_notes(folders: Mapping[str, Path]) -> list[str]:
    """Where the samples of folders were not drawn and graded alike: a sentence each.

    Args:
        folders: of evaluations, by their labels.
    """
    settings = {label: read_settings(folder) for label, folder in folders.items()}
    said = setting_notes({label: {"sampling": vars(one.sampling)} for label, one in settings.items()})
    return said + grading_notes({label: vars(one.grading) if one.grading else None for label, one in settings.items()})


def _decisive(evaluation: Evaluation, shared: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """What decides the samples beside the model."""
    yield from ((part, evaluation.settings.get(part, {})) for part in ("sampling", "versions"))
    for task in shared:
        yield f"{task}: samples a problem", evaluation.tasks[task].samples
        yield f"{task}: sha256 of the data", evaluation.settings.get("tasks", {}).get(task, {}).get("sha256")
