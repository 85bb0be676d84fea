"""Runs of a sweep that were trained elsewhere, from the results.json that was written there."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.redaction import redacted_command
from pacs.evaluation.tasks import Task
from pacs.sweeps.grid import OURS, PlannedRun
from pacs.sweeps.results import config_of, read
from pacs.verl_keys.algorithm_changes import algorithm_changes, algorithm_settings, counts
from pacs.verl_keys.names import OF_VALIDATION, TOTAL_STEPS


def take_results(runs: Sequence[PlannedRun], files: Iterable[Path], tasks: Sequence[Task]) -> None:
    """Take runs that are finished in `files`, and not here, as they are there; the others are left as they are.

    Args:
        runs: of the sweep; `elsewhere` of those that are found is set.
        files: results.json of the same sweep; of a run that is in several, the first counts.
        tasks: that each run is to be evaluated on.

    Raises:
        UserError: a file cannot be read or is of another sweep; a run of it has other settings, or lacks an evaluation.
    """
    for file in files:
        results = read(file)
        finished = {one["name"]: one for one in results["runs"] if one["state"] == "finished"}
        if finished and not any(run.folder.name in finished for run in runs):
            raise UserError(f"--results {file}: none of its runs is one of these: give a results.json of this sweep")
        for run in runs:
            there = finished.get(run.folder.name)
            if there is None or run.is_finished:
                continue
            which = f"--results {file}: its run {run.folder.name}"
            ours, theirs = _decisive(redacted_command(run.command)), _decisive(there["command"])
            if ours != theirs:
                differing = ", ".join(sorted({*ours} ^ {*theirs})) or "in another order"
                raise UserError(
                    f"{which} has other settings ({differing}): give the overrides that it was trained with, as they "
                    "were, or leave the file out"
                )
            trained_with = config_of(results, there)
            if trained_with is None:
                raise UserError(f"{which} does not say what it was trained with: leave the file out, it is too old")
            # Of the same words: what they stand for may have changed between two versions of the project.
            changes = algorithm_changes(trained_with, algorithm_settings(run.config), where="there")
            if there["total_steps"] != run.total_steps:
                changes.append(f"{TOTAL_STEPS}: {there['total_steps']} there, {run.total_steps} now")
            if changes:
                raise UserError(
                    f"{which} was trained by a version with other settings ({'; '.join(changes)}): train it with this "
                    "one, or leave the file out"
                )
            for task in tasks:
                if (samples := there["evaluation"].get(task.name, {}).get("samples")) != task.samples:
                    found = "not evaluated" if samples is None else f"evaluated by {samples} samples a problem"
                    raise UserError(
                        f"{which} is {found} on {task.name}, and {task.samples} are asked for: evaluate it where it "
                        "was trained, give --samples as it was there, or leave the task out (--tasks)"
                    )
            run.elsewhere = {**there, "config": trained_with, "label": run.label, "folder": str(run.folder)}


def _decisive(command: Sequence[Any]) -> list[str]:
    """The words of a run's command that decide its results: not its folder, its name or how it is calculated."""
    return [word for word in map(str, command) if _decides(word.split("=")[0].lstrip("+~"))]


def _decides(key: str) -> bool:
    return key not in OURS and (counts(key) or key.startswith(OF_VALIDATION))
