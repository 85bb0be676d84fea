"""Evaluation folders to lay beside each other."""

from collections.abc import Sequence
from pathlib import Path

from pacs.base.errors import UserError, nearest
from pacs.evaluation.compare import check_same_problems, common_tasks, grading_notes
from pacs.evaluation.folder import read_task, task_names
from pacs.evaluation.sample import GradedTask
from pacs.evaluation.settings import FILE, read_settings


def is_evaluation(folder: Path) -> bool:
    """Whether a folder is one of `pacs evaluate`, finished or not."""
    return (folder / FILE).is_file()


def read_tasks(folders: Sequence[Path], tasks: Sequence[str] | None) -> dict[str, list[GradedTask]]:
    """The tasks that all folders have, or the named ones: of each the samples of every folder.

    Raises:
        UserError: a task is unknown, none is common, a folder cannot be read, or the folders have different
            problems under one name.
    """
    common = common_tasks({str(folder): task_names(folder) for folder in folders})
    for name in tasks or ():
        if name not in common:
            near = nearest(name, common, count=3, cutoff=0.5) or common
            raise UserError(f"--task {name}: not in {' and '.join(map(str, folders))}; there is {', '.join(near)}")
    read = {name: [read_task(folder, name) for folder in folders] for name in dict.fromkeys(tasks or common)}
    for name, of_each in read.items():
        golds = [{problem.id: problem.ground_truth for problem in task.problems} for task in of_each]
        check_same_problems(name, dict(zip(map(str, folders), golds, strict=True)))
    return read


def notes(folders: Sequence[Path], names: Sequence[str]) -> dict[str, str]:
    """`note`, for the settings that a result is shown with, if the samples were not graded alike.

    Args:
        folders: of the evaluations.
        names: by which they are shown.
    """
    gradings = [read_settings(folder).grading for folder in folders]
    as_json = [vars(grading) if grading else None for grading in gradings]
    said = grading_notes(dict(zip(names, as_json, strict=True)))
    return {"note": " ".join(said)} if len(folders) > 1 and said else {}
