"""In the driver: a run that makes no progress for too long has its stacks written and is ended."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pacs.runs.processes import TOKEN
from pacs.runs.settings import FaultSettings
from pacs.runs.stacks import FOLDER, dump_on_this_node
from pacs.runs.state import Progress, read_progress, report_fault
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
        seen: Progress | None = None
        since = time.monotonic()
        while True:
            time.sleep(POLL_SECONDS)
            try:
                progress = read_progress(self.run_dir)
            except OSError:  # a file system that is away for a moment is no progress, and no end
                progress = seen
            if progress != seen:
                seen, since = progress, time.monotonic()
                continue
            phase = "start" if seen is None else seen.phase
            limit = self.settings.no_progress_limit(phase, None if seen is None else seen.step_seconds)
            if time.monotonic() - since > limit:
                where = "during the start" if seen is None or phase == "start" else f"in step {seen.step + 1}: {phase}"
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
