"""`pacs train` as a process of its own, and what it has logged: what the recipes' programs share."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pacs.base.run_folder import RunFolder
from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import print
from pacs.composing import quoted
from pacs.runs.read import read_lines
from pacs.runs.supervisor import STOPPED


def train_in(run: Path, overrides: Sequence[str]) -> None:
    """Run `pacs train`, which shows its stages and steps on this console.

    Ctrl-C and the other signals that ask for the end are for `pacs train`, which ends after its step; a second one ends
    it at once.

    Args:
        run: the run's folder.
        overrides: of the run.

    Raises:
        SystemExit: With the exit status of `pacs train`, if it has not finished, or that of a stop, if a signal came
            when nothing was left to stop.
    """
    command = [sys.executable, "-m", "pacs", "train", *overrides, f"run.dir={quoted(str(run))}"]
    sys.stdout.flush()
    with Stops() as stop:
        status = run_passing_on(command, stop)
    if status == 0 and stop.signals:
        status = STOPPED
    if status == STOPPED:
        print("training was stopped and saved; the same command goes on")
    if status != 0:  # `pacs train` has said why
        sys.exit(status)


def trained_steps(run: Path) -> list[dict[str, float]]:
    """Metric -> value, with "step", of each line of metrics.jsonl that has an update; damaged lines are passed over."""
    return [
        {**line.values, "step": line.step}
        for line in read_lines(RunFolder(run).metrics)
        if line.step is not None and "timing_s/step" in line.values
    ]
