"""The files in which an evaluation's results lie: results.json, from which models are compared, and results.md."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.evaluation.results_page import results_page
from pacs.evaluation.summary import ProblemCount, TaskResult, summarize

__all__ = ["ProblemCount", "TaskResult", "read_results", "summarize", "write_results"]

JSON_FILE = "results.json"
PAGE_FILE = "results.md"


def write_results(out: Path, settings: Mapping[str, Any], results: Sequence[TaskResult]) -> None:
    """Write results.json and results.md, each as a whole or not at all.

    Args:
        out: the evaluation's folder.
        settings: what decided the samples, plain JSON: `pacs.evaluation.settings.Settings` as JSON.
        results: of each task.

    Raises:
        OSError: If they cannot be written.
    """
    date = datetime.now(UTC).date().isoformat()
    content = {"date": date, "settings": settings, "tasks": [result.to_dict() for result in results]}
    write_atomically(out / JSON_FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    write_atomically(out / PAGE_FILE, results_page(settings, results, date))


def read_results(out: Path) -> tuple[dict[str, Any], list[TaskResult]]:
    """The settings and results of an evaluation, from its folder.

    Raises:
        UserError: If it has none, or they are damaged.
    """
    file = out / JSON_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return dict(content["settings"]), [TaskResult.from_dict(task) for task in content["tasks"]]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{out} has no {JSON_FILE}: give the --out folder of an evaluation that is done") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} cannot be read ({error}): `pacs evaluate grade` writes it again") from error
