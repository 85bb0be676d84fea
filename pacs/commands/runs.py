"""List the training runs in and below each DIR: state, step, the step from which the same command would resume (its
newest complete checkpoint), last metrics, size and time.

A run is "died" if it claims to be running but its launcher's process is gone. For a run on another host, only the age
of its progress tells whether it runs. A run is "copied" if its folder is a copy of the folder of a run that was
training: it is not running itself, and `pacs train` resumes from its newest checkpoint. Links to folders are not
followed.

examples:
  pacs runs outputs
  pacs runs outputs/pacs /scratch/pacs
  pacs runs outputs --watch
  pacs runs outputs --json
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path

from pacs.base.arguments import seconds
from pacs.base.errors import UserError
from pacs.base.tables import Table, format_cell, format_table
from pacs.base.terminal import clear_screen, columns, print
from pacs.base.units import duration, size
from pacs.runs.listing import ListedRun, list_runs

#: Between two looks of `--watch`.
WATCH_SECONDS = 5.0
#: A century. More than that is left by what a damaged file says.
LONGEST_LEFT = 3.2e9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="DIR", help="a run's folder, or one with runs below it"
    )
    parser.add_argument("--json", action="store_true", help="print the runs as a list of JSON objects")
    about = f"list again every SECONDS (default: {WATCH_SECONDS:g}) until no run is running; Ctrl-C ends it"
    parser.add_argument("--watch", nargs="?", type=_between_looks, const=WATCH_SECONDS, metavar="SECONDS", help=about)


def _between_looks(text: str) -> float:
    """The argument of --watch, which argparse takes for seconds where a folder follows."""
    if Path(text).is_dir():
        about = f"{text} is a folder: name it before --watch, as in `pacs runs {text} --watch`"
        raise argparse.ArgumentTypeError(about)
    return seconds(text)


def main(args: argparse.Namespace) -> int:
    """Print the list, once or as long as one of them runs."""
    if args.watch is not None and args.json:
        raise UserError("--watch is for a person, and --json for a program: leave one out")
    with suppress(KeyboardInterrupt) if args.watch else nullcontext():  # the way out
        while _show(args) and args.watch:
            time.sleep(args.watch)
    return 0


def _show(args: argparse.Namespace) -> bool:
    """Print the list; whether one of the runs is running."""
    try:
        runs = list_runs(args.folders)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}): give a folder") from error
    if args.watch:
        clear_screen()
    if args.json:
        print(json.dumps([_finite(asdict(run)) for run in runs], indent=1, allow_nan=False))
    elif not runs:
        print(f"no runs in or below {', '.join(map(str, args.folders))}")
    else:
        table = format_table(as_table(runs), corner="run", width=columns())
        print("\n".join([table, *(line for run in runs for line in remarks(run))]), flush=True)
    return any(run.state == "running" for run in runs)


def as_table(runs: Sequence[ListedRun]) -> Table:
    """A row a run."""
    return {
        run.name: {
            "state": _state(run),
            "step": None if run.step is None else f"{run.step}/{run.total_steps or '?'}",
            "resumable": run.resumable_from,
            "pass rate": run.pass_rate,
            "loss": run.loss,
            "validation": _validation([*run.validation.values()]) if run.validation else None,
            "s/step": None if run.step_seconds is None else _decimals(run.step_seconds, 1),
            "size": None if run.size_bytes is None else size(run.size_bytes),
            "started (UTC)": None if run.started is None else run.started[:16].replace("T", " "),
            "left": _left(run),
            "took": None if run.seconds is None else duration(run.seconds),
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
    return f"running on {run.host} ({'no progress yet' if age is None else f'progress {duration(age)} ago'})"


def _validation(values: Sequence[float]) -> str:
    """The share of right answers; of several sets their mean, and of how many."""
    return _decimals(sum(values) / len(values), 3) + (f" (mean of {len(values)})" if len(values) > 1 else "")


def _decimals(value: float, count: int) -> str:
    """With so many decimals; one with too many digits to read as a table has it."""
    return f"{value:.{count}f}" if abs(value) < 1e9 else format_cell(value)


def _left(run: ListedRun) -> str | None:
    """Of a run that is running, by the time of its steps; validations and saves between them are not counted."""
    if run.state != "running" or run.step is None or run.total_steps is None:
        return None
    left = math.nan if run.step_seconds is None else run.step_seconds * (run.total_steps - run.step)
    return duration(left) if left < LONGEST_LEFT else None


def _finite(value: object) -> object:
    """JSON has no NaN: null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
