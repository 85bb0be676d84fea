"""`pacs runs DIR [DIR ...]`."""

import argparse
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.tables import Table, format_table
from pacs.base.terminal import print
from pacs.runs.listing import ListedRun, list_runs

DESCRIPTION = """\
List the training runs in and below each DIR: whether each runs, how far it is, the step that the same command
would go on from (its newest complete checkpoint), its last metrics, size and time.

A run is "died" if it says that it is running, and its launcher's process is gone. Whether a run on another host
runs can only be told from the age of its progress. It is "copied" if its folder is a copy of that of a run that was
training: it is not running itself, and `pacs train` goes on from its newest checkpoint. Links to folders are not
followed.
"""

EXAMPLES = """\
examples:
  pacs runs outputs
  pacs runs outputs/pacs /scratch/pacs
  pacs runs outputs --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="a folder with runs below, or a run's own")
    parser.add_argument("--json", action="store_true", help="a list of objects, for programs")


def main(args: argparse.Namespace) -> int:
    """Print the list."""
    try:
        runs = list_runs(args.folders)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}): give a folder") from error
    if args.json:
        print(json.dumps([_finite(asdict(run)) for run in runs], indent=1, allow_nan=False))
    elif not runs:
        print(f"no runs in or below {', '.join(map(str, args.folders))}")
    else:
        print("\n".join([format_table(as_table(runs), corner="run"), *(line for run in runs for line in remarks(run))]))
    return 0


def as_table(runs: Sequence[ListedRun]) -> Table:
    """A row a run."""
    return {
        run.name: {
            "state": _state(run),
            "step": _of(run.step, run.total_steps),
            "resumable": run.resumable_from,
            "pass rate": run.pass_rate,
            "loss": run.loss,
            "validation": _validation(run),
            "s/step": None if run.step_seconds is None else f"{run.step_seconds:.1f}",
            "size": None if run.size_bytes is None else _size(run.size_bytes),
            "started (UTC)": None if run.started is None else run.started[:16].replace("T", " "),
            "took": None if run.seconds is None else _duration(run.seconds),
        }
        for run in runs
    }


def remarks(run: ListedRun) -> list[str]:
    """Why a run has not reached its end, and what is wrong with its newest checkpoints."""
    if run.state not in ("failed", "died", "copied", "stopped", "unreadable"):
        return []
    problems = [f"  checkpoint passed over: {problem}" for problem in run.passed_over]
    return [f"{run.name} {run.state}: {run.cause or 'no cause is known'}", *problems]


def _state(run: ListedRun) -> str:
    if run.state != "running" or run.here:
        return run.state
    age = run.progress_age_seconds
    return f"running on {run.host} ({'no progress yet' if age is None else f'progress {_duration(age)} ago'})"


def _of(step: int | None, total: int | None) -> str | None:
    return None if step is None else f"{step}/{'?' if total is None else total}"


def _validation(run: ListedRun) -> str | None:
    """The share of right answers; of several sets their mean, and of how many."""
    values = list(run.validation.values())
    if not values:
        return None
    return f"{statistics.fmean(values):.3f}" + (f" (mean of {len(values)})" if len(values) > 1 else "")


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _duration(seconds: float) -> str:
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    return f"{hours} h" if hours < 100 else f"{hours // 24} d {hours % 24} h"


def _finite(value: object) -> object:
    """JSON has no NaN: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
