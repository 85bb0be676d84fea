"""The evaluations of a checkpoint, for its model card."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.markdown import interval, table
from pacs.base.settings import shown
from pacs.checkpoints.folder import MARKER
from pacs.checkpoints.source import Source
from pacs.data.output import file_sha256
from pacs.evaluation.results import JSON_FILE, read_results
from pacs.evaluation.summary import TaskResult

#: Where a sweep evaluates a run, below its folder.
FOLDER = "evaluation"


@dataclass(frozen=True)
class CheckpointEvaluation:
    """The results of `pacs evaluate`, of this very checkpoint, and how it sampled."""

    sampling: dict[str, Any]
    tasks: list[TaskResult]


def find_evaluations(source: Source, given: Sequence[Path]) -> list[CheckpointEvaluation]:
    """The evaluations that are given, then those in the run's folder, of this checkpoint.

    Args:
        source: what is exported.
        given: folders of `pacs evaluate`.

    Raises:
        UserError: One cannot be read, or one that is given is of another model.
    """
    beside = [file.parent for file in sorted((source.run / FOLDER).rglob(JSON_FILE))]
    marker = file_sha256(source.checkpoint.folder / MARKER)
    found: dict[Path, CheckpointEvaluation] = {}
    for folder in (*given, *beside):
        try:
            settings, tasks = read_results(folder)
            is_own = settings["model"].get("checkpoint") == marker
            evaluation = CheckpointEvaluation(dict(settings["sampling"]), tasks)
        except (UserError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"the evaluation in {folder} cannot be read: {error}") from error
        if is_own:
            found.setdefault(folder.resolve(), evaluation)
        elif folder in given:
            raise UserError(
                f"--evaluation {folder} is of another model than {source.checkpoint.folder}: evaluate that, or leave "
                "it out"
            )
    return list(found.values())


def card_section(evaluation: CheckpointEvaluation) -> str:
    """The section of the model card in Markdown: pass@k of each task, and how it was sampled."""
    ks = sorted({k for task in evaluation.tasks for k in task.pass_at} | {1})
    rows = []
    for task in evaluation.tasks:
        shares = [interval(task.accuracy if k == 1 else task.pass_at.get(k)) for k in ks]
        rows.append([task.task, str(len(task.problems)), str(task.samples), *shares])
    how = ", ".join(f"{name} {value}" for name, value in shown(evaluation.sampling).items())
    return "\n\n".join(
        [
            "## Evaluation",
            table(["task", "problems", "samples", *(f"pass@{k}" for k in ks)], rows),
            f"By `pacs evaluate`, in percent, with the 95% interval of the bootstrap over problems. Sampling: {how}.",
        ]
    )
