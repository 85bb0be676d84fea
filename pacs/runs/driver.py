"""The driver's side of a start: outlive the launcher until all is cleared up, end a run without progress, say why."""

import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from pacs.base.collecting import collect_rarely
from pacs.base.redaction import redact
from pacs.base.terminal import say, settle
from pacs.runs.clearing import KILLED
from pacs.runs.processes import TOKEN
from pacs.runs.settings import FaultSettings
from pacs.runs.signals import block
from pacs.runs.stacks import FOLDER, dump_on_this_node
from pacs.runs.state import CAUSE_CHARS, Progress, read_progress, report_fault, worded
from pacs.runs.supervisor import FAILED

POLL_SECONDS = 1.0
#: The stacks of all processes on all nodes get this long to be written.
DUMP_SECONDS = 40.0


class Watchdog(threading.Thread):
    """Reads progress.json, which any node's trainer writes to the run's folder, and times how long it stays the same.

    Args:
        run_dir: the run's folder.
        settings: the limit.
        dump_elsewhere: writes the stacks of the processes on other machines, given the folder and the start's token.
    """

    def __init__(
        self, run_dir: Path, settings: FaultSettings, dump_elsewhere: Callable[[Path, str], None] = lambda _, __: None
    ) -> None:
        super().__init__(daemon=True, name="pacs-watchdog")
        self.run_dir, self.settings, self.dump_elsewhere = run_dir, settings, dump_elsewhere

    def run(self) -> None:
        """Until the driver ends."""
        last: Progress | None = None
        since = time.monotonic()
        while True:
            time.sleep(POLL_SECONDS)
            try:
                progress = read_progress(self.run_dir)
            except OSError:  # a file system that is away for a moment is no progress, and no end
                progress = last
            if progress != last:
                last, since = progress, time.monotonic()
                continue
            phase = "start" if last is None else last.phase
            limit = self.settings.no_progress_limit(phase, None if last is None else last.step_seconds)
            if time.monotonic() - since > limit:
                where = "during the start" if last is None or phase == "start" else f"in step {last.step + 1}: {phase}"
                self._end(where, limit)

    def _end(self, where: str, limit: float) -> None:
        cause = f"no progress for {limit:.0f} s ({where}; run.faults.no_progress_seconds)"
        # In a thread, which may hang as the run does.
        dumping = threading.Thread(target=self._dump, daemon=True)
        try:
            report_fault(self.run_dir, f"{cause}; the stacks are in {self.run_dir / FOLDER}")
            dumping.start()
            dumping.join(DUMP_SECONDS)
        finally:
            os._exit(FAILED)

    def _dump(self) -> None:
        dump_on_this_node(self.run_dir, os.environ[TOKEN])
        self.dump_elsewhere(self.run_dir, os.environ[TOKEN])


class RunFailed(Exception):
    """The run has failed; the message is the cause."""


def run_driver(load: Callable[[], Callable[[Path], None]]) -> NoReturn:
    """Run what `load` returns as the driver that a `supervisor.Driver` has started, and exit with its status.

    The arguments of the process are the run's folder, a pipe by which the launcher says when to begin and that ends
    when the launcher does, and one by which the cause of a failure is told where the disk is too full for a file.

    Args:
        load: imports what trains, before the launcher says that the run may begin, and returns it: a function that
            trains the run in a folder and returns when it has ended, whether it is finished or was stopped. Of a
            `RunFailed` that it raises the message is the cause, of another exception its type and first line.
    """
    run_dir, alive, saying = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for descriptor in (alive, saying):
        os.set_inheritable(descriptor, False)
    # Its output is a pipe, and Ray passes on what the other processes say without flushing it.
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    collect_rarely()
    begun = threading.Event()
    threading.Thread(target=_outlive_launcher, args=(run_dir, alive, begun), daemon=True).start()
    try:
        drive = load()
        block()  # once more: what was imported may have let some of them through
        begun.wait()
        drive(run_dir)
        status = 0
    except BaseException as error:
        said = str(error) if isinstance(error, RunFailed) else f"{type(error).__name__}: {error}".splitlines()[0]
        cause = redact(worded(said, run_dir))
        # Never more than a pipe takes that nobody reads before this process has ended.
        os.write(saying, cause.encode(errors="backslashreplace")[: 4 * CAUSE_CHARS])
        say(redact("".join(traceback.format_exception(error))), error=True)
        status = 1
        if begun.is_set():
            report_fault(run_dir, cause)
    finally:
        settle()
    sys.exit(status)


def _outlive_launcher(run_dir: Path, alive: int, begun: threading.Event) -> None:
    """Wait for the word to begin, then until the launcher is dead, and have done what it would have done."""
    if not os.read(alive, 1):
        os._exit(1)  # refused, or killed: nothing was begun
    begun.set()
    os.read(alive, 1)
    try:
        report_fault(run_dir, KILLED)
    finally:
        token = os.environ.pop(TOKEN)  # the one process that does not belong to the run
        subprocess.Popen([sys.executable, "-m", "pacs.runs.clearing", str(run_dir), token], start_new_session=True)
        os._exit(1)
