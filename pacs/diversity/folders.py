"""Evaluation folders to lay beside each other."""

from collections.abc import Sequence
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.suggestions import nearest
from pacs.evaluation.compare import grading_notes
from pacs.evaluation.folder import read_task, task_names
from pacs.evaluation.sample import GradedTask
from pacs.evaluation.settings import read_settings


def labels(folders: Sequence[Path]) -> list[str]:
    """What to call each: its name, or as much of its path as tells it from the others.

    Raises:
        UserError: a folder is given twice.
    """
    resolved = [folder.resolve() for folder in folders]
    if len(set(resolved)) < len(resolved):
        raise UserError(f"{folders[0]} is given twice: give another evaluation to compare it with")
    for depth in range(1, max(len(path.parts) for path in resolved) + 1):
        names = [str(Path(*path.parts[-depth:])) for path in resolved]
        if len(set(names)) == len(names):
            break
    return names


def read_tasks(folders: Sequence[Path], tasks: Sequence[str] | None) -> dict[str, list[GradedTask]]:
    """The tasks that all folders have, or the named ones: of each the samples of every folder.

    Raises:
        UserError: a task is unknown, none is common, a folder cannot be read, or the folders have different
            problems under one name.
    """
    have = [task_names(folder) for folder in folders]
    common = [name for name in have[0] if all(name in names for names in have)]
    if not common:
        raise UserError(
            "no task in common: " + "; ".join(f"{f} has {', '.join(h)}" for f, h in zip(folders, have, strict=True))
        )
    for name in tasks or ():
        if name not in common:
            near = nearest(name, common, count=3, cutoff=0.5) or common
            raise UserError(f"--task {name}: not in {' and '.join(map(str, folders))}; there is {', '.join(near)}")
    read = {}
    for name in dict.fromkeys(tasks or common):
        read[name] = [read_task(folder, name) for folder in folders]
        for folder, other in zip(folders[1:], read[name][1:], strict=True):
            _check_same_problems(name, (folders[0], read[name][0]), (folder, other))
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


def _check_same_problems(task: str, first: tuple[Path, GradedTask], second: tuple[Path, GradedTask]) -> None:
    golds = [{problem.id: problem.ground_truth for problem in graded.problems} for _, graded in (first, second)]
    if golds[0].keys() != golds[1].keys():
        odd = sorted(golds[0].keys() ^ golds[1].keys())
        raise UserError(
            f"{task}: {first[0]} and {second[0]} have different problems, {len(odd)} are in one alone ({odd[0]}, say): "
            "evaluate both on the same data"
        )
    for problem, gold in golds[0].items():
        if golds[1][problem] != gold:
            raise UserError(
                f"{task}: the right answer of problem {problem} is {gold!r} in {first[0]} and {golds[1][problem]!r} in "
                f"{second[0]}: evaluate both on the same data"
            )
