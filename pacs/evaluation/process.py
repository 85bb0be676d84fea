"""The process of an evaluation: alone in its folder, ended by a signal, and nothing left running after it.

    python -m pacs.evaluation.process PIPE TOKEN PROCESS SPARED

is the process that sees to the last: it waits until the evaluation is over, however it has ended, and ends what still
carries its token or has descended from it (Ray's daemons and workers, vLLM's engines, the verifier's processes), but
for the processes and the shared memory SPARED, a JSON object, which were there before.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import psutil

from pacs.base import locks
from pacs.base.errors import UserError
from pacs.base.files import check_folder
from pacs.base.stops import Stops
from pacs.base.terminal import print
from pacs.evaluation.settings import FILE
from pacs.runs import clearing
from pacs.runs.processes import KEEP_ENVIRONMENT, TOKEN, end_processes

#: Between two looks at which processes there are.
WATCH_SECONDS = 1.0


def check_out(out: Path) -> None:
    """Whether a folder may be written to: an evaluation's, or one that is empty or not there.

    Raises:
        UserError: If it is not.
    """
    check_folder(out)
    if out.is_dir() and any(out.iterdir()) and not ((out / FILE).exists() or (out / locks.LOCK).exists()):
        raise UserError(f"--out {out} has other files, and is no evaluation: give another folder")


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Make an evaluation's folder and hold its lock; it goes with this process.

    Raises:
        UserError: If another process holds it, or it cannot be made.
    """
    with locks.held(out, f"--out {out}", "an evaluation") as lock:
        lock.truncate(0)
        lock.write(json.dumps({"process": os.getpid(), "host": os.uname().nodename}) + "\n")
        lock.flush()
        yield


class Stopped(Exception):
    """A signal has asked for the end; the message is its name."""


class StopRequest(Stops):
    """Whether a signal has asked for the end: the first is heeded at the next safe moment, a second at once."""

    def check(self) -> None:
        """Raise `Stopped` if one has come."""
        if self.signals:
            raise Stopped(self.names[0])

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        super().note(number, frame)
        if self.second is not None:
            os._exit(128 + number)
        if len(self.signals) == 1:
            print(f"\npacs: {self.names[0]}: stopping; a second signal ends it at once", file=sys.stderr, flush=True)


@contextmanager
def nothing_left() -> Iterator[None]:
    """All processes that are started meanwhile are ended at its end, or when this process is killed."""
    # Else multiprocessing starts its keeper of semaphores meanwhile, and misses it at this process's own end.
    resource_tracker.ensure_running()
    children = [child.pid for child in psutil.Process().children(recursive=True)]
    token = uuid4().hex
    temporary = clearing.temporary_folder(token)
    clearing.make_temporary(temporary)
    spared = json.dumps({"processes": children, "segments": clearing.segments_there(), "temporary": str(temporary)})
    over, here = os.pipe()
    command = [sys.executable, "-m", __name__, str(over), token, str(os.getpid()), spared]
    watcher = subprocess.Popen(command, pass_fds=(over,), start_new_session=True)
    os.close(over)
    variables = {TOKEN: token, clearing.TEMPORARY: str(temporary), KEEP_ENVIRONMENT: "1"}
    os.environ |= variables
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.close(here)
        watcher.wait()


def _watch(over: int, token: str, parent: int, spared: dict[str, Any]) -> None:
    descendants: set[psutil.Process] = set()
    # What was forked has its parent's first environment in /proc, without the token: these are known by descent.
    while not select.select([over], [], [], WATCH_SECONDS)[0]:
        with suppress(psutil.NoSuchProcess):
            descendants |= set(psutil.Process(parent).children(recursive=True))
    end_processes(token, grace_seconds=0)
    for process in descendants:
        if process.pid not in (os.getpid(), *spared["processes"]):
            with suppress(psutil.NoSuchProcess):  # also of one whose number is another's now
                process.kill()
    clearing.remove_segments(spared["segments"])
    clearing.remove_temporary(spared["temporary"], token)


if __name__ == "__main__":
    _watch(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
