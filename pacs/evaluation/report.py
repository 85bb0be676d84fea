"""Results from the samples in an evaluation's folder."""

from dataclasses import asdict
from pathlib import Path

from pacs.evaluation.folder import is_complete, read_task, read_timing
from pacs.evaluation.results import PAGE_FILE, summarize, write_results
from pacs.evaluation.settings import read_settings


def report(out: Path) -> str:
    """Write results.json and results.md of all tasks that are complete.

    Returns:
        What to print: results.md, and which tasks are left out.

    Raises:
        UserError: If `out` is no evaluation, or its files are damaged.
    """
    settings = read_settings(out)
    complete = [task for task in settings.tasks if is_complete(out, task, settings)]
    missing = [task for task in settings.tasks if task not in complete]
    lines = [f"not complete, and left out of the results: {', '.join(missing)}"] if missing else []
    if complete:
        results = []
        for task in complete:
            results.append(summarize(read_task(out, task), settings.tasks[task].ks, read_timing(out, task)))
        shown = asdict(settings) | {"tasks": {task: asdict(settings.tasks[task]) for task in complete}}
        write_results(out, shown, results)
        lines.insert(0, (out / PAGE_FILE).read_text(encoding="utf-8"))
    return "\n".join([*lines, f"in {out}"])
