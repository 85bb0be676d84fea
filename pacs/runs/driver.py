"""The driver's side of a start: outlive the launcher by as long as it takes to clear up, and say why the run fails."""

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from pacs.base.redaction import redact
from pacs.base.terminal import say, settle
from pacs.runs.clearing import KILLED
from pacs.runs.processes import TOKEN
from pacs.runs.signals import block
from pacs.runs.state import CAUSE_CHARS, report_fault, worded


class RunFailed(Exception):
    """The run has failed; the message is the cause."""


def run_driver(drive: Callable[[Path], None]) -> NoReturn:
    """Run `drive` as the driver that `supervisor.supervise` has started, and exit with its status.

    The arguments of the process are the run's folder, a pipe that ends when the launcher does, and one by which the
    cause of a failure is told where the disk is too full for a file.

    Args:
        drive: trains the run in a folder; returns when it has ended, whether it is finished or was stopped. Of a
            `RunFailed` that it raises the message is the cause, of another exception its type and first line.
    """
    run_dir, alive, saying = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for descriptor in (alive, saying):
        os.set_inheritable(descriptor, False)
    block()  # once more: what was imported may have let some of them through
    # Its output is a pipe, and Ray passes on what the other processes say without flushing it.
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    threading.Thread(target=_outlive_launcher, args=(run_dir, alive), daemon=True).start()
    try:
        drive(run_dir)
        status = 0
    except BaseException as error:
        said = str(error) if isinstance(error, RunFailed) else f"{type(error).__name__}: {error}".splitlines()[0]
        cause = redact(worded(said, run_dir))
        # Never more than a pipe takes that nobody reads before this process has ended.
        os.write(saying, cause.encode(errors="backslashreplace")[: 4 * CAUSE_CHARS])
        say(redact("".join(traceback.format_exception(error))), error=True)
        status = 1
        report_fault(run_dir, cause)
    finally:
        settle()
    sys.exit(status)


def _outlive_launcher(run_dir: Path, alive: int) -> None:
    """Wait until the launcher is dead, then have done what it would have done."""
    os.read(alive, 1)
    try:
        report_fault(run_dir, KILLED)
    finally:
        token = os.environ.pop(TOKEN)  # the one process that does not belong to the run
        subprocess.Popen([sys.executable, "-m", "pacs.runs.clearing", str(run_dir), token], start_new_session=True)
        os._exit(1)
