"""The evaluations of a checkpoint, for its model card."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.data.output import file_sha256
from pacs.evaluation.results import JSON_FILE, read_results
from pacs.evaluation.summary import TaskResult
from pacs.export.source import Source
from pacs.runs.checkpoints import MARKER

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
