"""The processes and shared-memory segments of one start of a run, on this machine.

Every process of a start carries the start's token in its environment, whoever started it and whoever is its parent
now: Ray's daemons and workers, vLLM's engine and its workers. That is how they are found when their parents are dead.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

#: Environment variable of every process of a start.
TOKEN = "PACS_RUN_TOKEN"
#: Environment variable of every process of a start: the run's folder.
RUN_DIR = "PACS_RUN_DIR"
#: Names in /dev/shm of what vLLM, torch, multiprocessing (under joblib, too, which verl imports) and verl make there.
SEGMENTS = ("psm_*", "torch_*", "sem.mp-*", "sem.loky-*", "verl_weights_*")
SHARED_MEMORY = Path("/dev/shm")
#: How long processes are killed again and again before they are given up.
KILL_SECONDS = 30.0


def processes_of(token: str) -> list[psutil.Process]:
    """The living processes of the start with `token`, this one left out."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(TOKEN) == token and not _is_dead(process):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def end_processes(token: str, *, grace_seconds: float) -> list[str]:
    """End all processes of the start: those that do not end by themselves within the grace time are killed.

    Args:
        token: the start's.
        grace_seconds: how long they are given to end by themselves.

    Returns:
        The names of those that had to be killed.
    """
    deadline = time.monotonic() + grace_seconds
    while (left := processes_of(token)) and time.monotonic() < deadline:
        time.sleep(0.1)
    killed = {}
    # Again until none is left: one may have been starting while the others were killed. But not for ever: one that
    # hangs in the kernel (a GPU's driver, a file system) cannot be ended.
    deadline = time.monotonic() + KILL_SECONDS
    while left and time.monotonic() < deadline:
        for process in left:
            killed[process.pid] = _name(process)
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=5)
        left = processes_of(token)
    return sorted(killed.values())


def remove_segments(since: float) -> list[str]:
    """Remove the `orphaned_segments`; return their names."""
    orphans = orphaned_segments(since)
    for file in orphans:
        file.unlink(missing_ok=True)
    return sorted(file.name for file in orphans)


def orphaned_segments(since: float) -> list[Path]:
    """This user's shared-memory segments that were made after `since` and that no living process maps or holds open.

    Args:
        since: seconds since the epoch.
    """
    found = {
        status.st_ino: file
        for pattern in SEGMENTS
        for file in SHARED_MEMORY.glob(pattern)
        if (status := _status(file)) is not None and status.st_uid == os.getuid() and status.st_ctime >= since
    }
    if not found:
        return []
    used = set(_used_inodes())
    return [file for inode, file in found.items() if inode not in used]


def _used_inodes() -> Iterator[int]:
    """Inodes below /dev/shm that a living process maps or holds open, as far as this user may see.

    Not their paths: glibc makes a semaphore under another name and links it, and it stays mapped under the first.
    """
    for process in Path("/proc").glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text().splitlines()
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue
        yield from (int(line.split(maxsplit=5)[4]) for line in maps if f"{SHARED_MEMORY}/" in line)
        for descriptor in descriptors:
            # One that is closed meanwhile (in this process, that by which the list was read) hides no other.
            with suppress(OSError):
                if os.readlink(descriptor).startswith(f"{SHARED_MEMORY}/"):  # noqa: PTH115 (a Path is normalised)
                    yield descriptor.stat().st_ino


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _is_dead(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_ZOMBIE)


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.pid})"
    except psutil.NoSuchProcess:
        return str(process.pid)
