"""In the driver: a run that makes no progress for too long has its stacks written and is ended."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pacs.runs.processes import TOKEN
from pacs.runs.settings import FaultSettings
from pacs.runs.stacks import dump_on_this_node
from pacs.runs.state import Progress, read_progress, report_fault
from pacs.runs.supervisor import FAILED

POLL_SECONDS = 1.0


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
            progress = read_progress(self.run_dir)
            if progress != seen:
                seen, since = progress, time.monotonic()
                continue
            started = seen is not None and seen.phase != "start"
            limit = self.settings.no_progress_limit(started=started, step_seconds=seen.step_seconds if seen else None)
            if time.monotonic() - since > limit:
                self._end(f"in step {seen.step + 1}: {seen.phase}" if seen and started else "during the start", limit)

    def _end(self, where: str, limit: float) -> None:
        cause = f"no progress for {limit:.0f} s ({where}; pacs.faults.no_progress_seconds)"
        stacks = dump_on_this_node(self.run_dir, os.environ[TOKEN])
        report_fault(self.run_dir, cause + (f"; every process's stack is in {stacks}" if stacks else ""))
        self.dump_elsewhere(self.run_dir, os.environ[TOKEN])
        os._exit(FAILED)
