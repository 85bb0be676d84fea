"""What others ask of an evaluation's folder before they start one: whether it is done, and whether it may go on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.evaluation.folder import has_samples
from pacs.evaluation.grading import Grading
from pacs.evaluation.results import read_results
from pacs.evaluation.settings import FILE, TaskSettings, joined, read_settings
from pacs.evaluation.tasks import Task


def is_evaluated(folder: Path, tasks: Sequence[Task]) -> bool:
    """Whether an evaluation's folder has the results that are asked for."""
    try:
        results = {result.task: result for result in read_results(folder)[1]}
    except UserError:
        return False
    return all(
        task.name in results
        and results[task.name].samples == task.samples
        and set(task.ks) <= results[task.name].pass_at.keys()
        for task in tasks
    )


def check_may_go_on(folder: Path, tasks: Sequence[Task], grading: Grading, **sampling: Any) -> None:
    """Refuse at once what `pacs evaluate` would refuse later: a folder whose samples were made with other settings.

    Args:
        folder: of the evaluation, which may not be there.
        tasks: that are asked for.
        grading: of what is to be evaluated.
        sampling: of `Sampling`, what is asked for.

    Raises:
        UserError: naming the folder, and what differs.
    """
    if not (folder / FILE).exists() or not has_samples(folder, old := read_settings(folder)):
        return
    settings = {
        task.name: TaskSettings(str(task.file), file_sha256(task.file), 0, task.samples, task.ks)
        for task in tasks
        if task.file.exists()
    }
    asked = replace(old, sampling=replace(old.sampling, **sampling), tasks=settings, grading=grading)
    joined(old, asked, folder)
