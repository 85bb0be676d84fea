"""In the driver: Ray's daemons on this machine, whose death Ray itself reports after a minute, or not at all."""

import os
import threading
import time
from pathlib import Path

import psutil

from pacs.runs.state import report_fault
from pacs.runs.supervisor import FAILED

#: Before the processes that a daemon's death takes with it are missed.
POLL_SECONDS = 0.2
#: Name of the program -> what it is.
DAEMONS = {"gcs_server": "Ray's control store (GCS)", "raylet": "Ray's node daemon (raylet)"}


class DaemonWatch(threading.Thread):
    """Ends the run, with the cause, when a daemon has died that this process has started.

    A driver whose GCS dies as it connects is ended by Ray's C++ code after 60 s without an exception.

    Args:
        run_dir: the run's folder.
    """

    def __init__(self, run_dir: Path) -> None:
        super().__init__(daemon=True, name="pacs-daemons")
        self.run_dir, self.stopped = run_dir, threading.Event()
        self.daemons: dict[psutil.Process, str] = {}

    def run(self) -> None:
        """Until `stop`."""
        while not self.stopped.wait(POLL_SECONDS):
            dead = self.dead()
            if dead is not None and not self.stopped.is_set():
                report_fault(self.run_dir, f"{dead} died")
                os._exit(FAILED)

    def stop(self) -> None:
        """Before Ray is shut down."""
        self.stopped.set()

    def dead_within(self, seconds: float) -> str | None:
        """`dead`, looked at for so long."""
        until = time.monotonic() + seconds
        while (dead := self.dead()) is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return dead

    def dead(self) -> str | None:
        """A daemon that was seen alive and is dead, with its process's number."""
        for daemon, name in list(self.daemons.items()):
            if not _lives(daemon):
                return f"{name} (process {daemon.pid})"
        for child in psutil.Process().children() if len(self.daemons) < len(DAEMONS) else ():
            name = DAEMONS.get(_program(child), "")
            if name:
                self.daemons[child] = name
        return None


def _program(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
