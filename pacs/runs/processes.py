"""The processes and shared-memory segments of one start of a run, on this machine.

Every process of a start carries the start's token in its environment, whoever started it and whoever is its parent
now: Ray's daemons and workers, vLLM's engine and its workers. That is how they are found when their parents are dead.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

#: Environment variable of every process of a start.
TOKEN = "PACS_RUN_TOKEN"
#: Names in /dev/shm of what vLLM, torch, multiprocessing and verl make there.
SEGMENTS = ("psm_*", "torch_*", "sem.mp-*", "verl_weights_*")
SHARED_MEMORY = Path("/dev/shm")


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


def end_processes(token: str, *, grace_seconds: float, spare: Iterable[int] = ()) -> list[str]:
    """End all processes of the start: those that do not end by themselves within the grace time are killed.

    Args:
        token: the start's.
        grace_seconds: how long they are given to end by themselves.
        spare: process ids that are left alone.

    Returns:
        The names of those that had to be killed.
    """
    spared = set(spare)
    deadline = time.monotonic() + grace_seconds
    while (left := [p for p in processes_of(token) if p.pid not in spared]) and time.monotonic() < deadline:
        time.sleep(0.1)
    killed = {}
    # Again until none is left: one that was being started while the others were killed.
    while left:
        for process in left:
            killed[process.pid] = _name(process)
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=5)
        left = [p for p in processes_of(token) if p.pid not in spared]
    return sorted(killed.values())


def remove_segments(since: float) -> list[str]:
    """Remove this user's shared-memory segments that were made after `since` and that no living process maps.

    Args:
        since: seconds since the epoch.

    Returns:
        The names of those removed.
    """
    orphans = [
        file
        for pattern in SEGMENTS
        for file in SHARED_MEMORY.glob(pattern)
        if (status := _status(file)) is not None and status.st_uid == os.getuid() and status.st_ctime >= since
    ]
    if not orphans:
        return []
    mapped = set(_mapped_segments())
    removed = [file for file in orphans if str(file) not in mapped]
    for file in removed:
        file.unlink(missing_ok=True)
    return sorted(file.name for file in removed)


def _mapped_segments() -> Iterator[str]:
    """Paths below /dev/shm that a living process maps or holds open, as far as this user may see."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            for line in (process / "maps").read_text().splitlines():
                if str(SHARED_MEMORY) in line:
                    yield line.split(maxsplit=5)[-1].removesuffix(" (deleted)")
            for descriptor in (process / "fd").iterdir():
                yield os.readlink(descriptor)  # noqa: PTH115 (a Path would be normalised)
        except OSError:
            continue


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
