"""`pacs train` as a process of its own: what the recipes' programs share."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pacs.base.terminal import print
from pacs.composing import quoted
from pacs.runs.supervisor import STOPPED


def train_in(run: Path, overrides: Sequence[str]) -> None:
    """Run `pacs train`, which shows its stages and steps on this console.

    Args:
        run: the run's folder.
        overrides: of the run.

    Raises:
        SystemExit: With the exit status of `pacs train`, if it has not finished.
    """
    command = [sys.executable, "-m", "pacs", "train", *overrides, f"pacs.run_dir={quoted(str(run))}"]
    sys.stdout.flush()
    process = subprocess.Popen(command, start_new_session=True)
    # Ctrl-C and the like are for `pacs train`, which ends after its step; a second one ends it at once.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda received, frame: process.send_signal(received))
    status = process.wait()
    if status == STOPPED:
        print("training was stopped and saved; the same command goes on")
    if status != 0:  # `pacs train` has said why
        sys.exit(status)
