"""Evaluation folders to lay beside each other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pacs.base.errors import UserError, nearest
from pacs.evaluation.compare import check_same_problems, common_tasks, folder_notes
from pacs.evaluation.folder import read_grades, read_problems, read_task, task_names
from pacs.evaluation.sample import GradedTask, Problem
from pacs.evaluation.settings import FILE, read_settings

#: Problem -> whether each of its samples is right, in the order in which they were drawn.
Marks = Mapping[str, Sequence[bool]]


def is_evaluation(folder: Path) -> bool:
    """Whether a folder is one of `pacs evaluate`, finished or not."""
    return (folder / FILE).is_file()


def read_tasks(folders: Sequence[Path], tasks: Sequence[str] | None) -> dict[str, list[GradedTask]]:
    """The tasks that all folders have, or the named ones: of each the samples of every folder.

    Raises:
        UserError: a task is unknown, none is common, a folder cannot be read, or the folders have different
            problems under one name.
    """
    read = {name: [read_task(folder, name) for folder in folders] for name in _chosen(folders, tasks)}
    for name, of_each in read.items():
        _check_problems(name, folders, [task.problems for task in of_each])
    return read


def read_marks(folders: Sequence[Path], tasks: Sequence[str] | None) -> dict[str, list[Marks]]:
    """As `read_tasks`, but of each sample only whether it is right: what many models say would fill the memory."""
    read = {}
    for name in _chosen(folders, tasks):
        problems = [read_problems(folder, name) for folder in folders]
        _check_problems(name, folders, problems)
        ids = [problem.id for problem in problems[0]]
        read[name] = [_marks(folder, name, ids) for folder in folders]
    return read


def marks_of(task: GradedTask) -> Marks:
    """Which of a task's samples are right."""
    return {problem: [one.status == "correct" for one in some] for problem, some in task.samples.items()}


def _chosen(folders: Sequence[Path], tasks: Sequence[str] | None) -> list[str]:
    """The named tasks, each once, or all that the folders have in common."""
    common = common_tasks({str(folder): task_names(folder) for folder in folders})
    for name in tasks or ():
        if name not in common:
            near = nearest(name, common, count=3, cutoff=0.5) or common
            raise UserError(f"--task {name}: not in {' and '.join(map(str, folders))}; there is {', '.join(near)}")
    return [*dict.fromkeys(tasks or common)]


def _check_problems(task: str, folders: Sequence[Path], problems: Sequence[Sequence[Problem]]) -> None:
    golds = [{problem.id: problem.ground_truth for problem in some} for some in problems]
    check_same_problems(task, dict(zip(map(str, folders), golds, strict=True)))


def _marks(folder: Path, task: str, problems: Sequence[str]) -> Marks:
    samples = range(read_settings(folder).tasks[task].samples)
    grades = read_grades(folder, task)
    found = {problem: [grades.get((problem, index)) for index in samples] for problem in problems}
    if lacking := sum(grade is None for some in found.values() for grade in some):
        raise UserError(f"{folder}: {lacking:,} samples of {task} are not graded: evaluate it to the end")
    return {problem: [grade.status == "correct" for grade in some if grade] for problem, some in found.items()}


def notes(folders: Sequence[Path], names: Sequence[str]) -> dict[str, str]:
    """`note`, for the settings that a result is shown with, if the samples were not drawn and graded alike.

    Args:
        folders: of the evaluations.
        names: by which they are shown.
    """
    said = folder_notes(dict(zip(names, folders, strict=True)))
    return {"note": " ".join(said)} if len(folders) > 1 and said else {}
