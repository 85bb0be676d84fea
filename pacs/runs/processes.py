"""The processes of one start of a run, on this machine.

Every process of a start carries the start's token in its environment, whoever started it and whoever is its parent
now: Ray's daemons and workers, vLLM's engine and its workers. That is how they are found when their parents are dead.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

#: Environment variable of every process of a start.
TOKEN = "PACS_RUN_TOKEN"
#: Environment variable of every process of a start: the run's folder.
RUN_DIR = "PACS_RUN_DIR"
#: setproctitle's own switch: a process that gives itself a title, as Ray's agents and vLLM's engine do, then leaves its
#: environment in /proc as it is, and else writes the title's end over it.
KEEP_ENVIRONMENT = "SPT_NOENV"
#: How long processes are killed again and again before they are given up.
KILL_SECONDS = 30.0


def processes_of(token: str, variable: str = TOKEN, *, folder: Path | None = None) -> list[psutil.Process]:
    """The living processes of a start and all that descend from them, this one left out.

    Args:
        token: the start's.
        variable: the environment variable that holds it.
        folder: only those of a run in this folder, by whatever path they know it, and of one that is gone (moved).
    """
    children: dict[int, list[psutil.Process]] = {}
    carriers = []
    for process in psutil.process_iter():
        try:
            environment = _environment(process)
            children.setdefault(process.ppid(), []).append(process)
        except (psutil.NoSuchProcess, OSError):
            continue
        if environment.get(variable) == token and (folder is None or _is_of(environment.get(RUN_DIR), folder)):
            carriers.append(process)
    found: dict[int, psutil.Process] = {}
    while carriers:
        process = carriers.pop()
        if process.pid not in found and process.pid != os.getpid():
            found[process.pid] = process
            carriers += children.get(process.pid, [])
    return [process for process in found.values() if not _is_dead(process)]


def end_processes(token: str, *, grace_seconds: float, variable: str = TOKEN, folder: Path | None = None) -> list[str]:
    """End all processes of a start: those that do not end by themselves within the grace time are killed.

    Args:
        token: the start's.
        grace_seconds: how long they are given to end by themselves.
        variable: the environment variable that holds the token.
        folder: as `processes_of` takes it.

    Returns:
        The names of those that had to be killed.
    """
    deadline = time.monotonic() + grace_seconds
    while (left := processes_of(token, variable, folder=folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    killed = {}
    # Again until none is left: one may have been starting while the others were killed. But not for ever: one that
    # hangs in the kernel (a GPU's driver, a file system) cannot be ended.
    deadline = time.monotonic() + KILL_SECONDS
    while left and time.monotonic() < deadline:
        for process in left:
            killed[process.pid] = _name(process)
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=5)
        left = processes_of(token, variable, folder=folder)
    return sorted(killed.values())


def birth_of(pid: int) -> str | None:
    """What tells a process from all others of its number, whatever the clock says; None: there is none that lives.

    The machine's start and, in its ticks, the process's: the kernel counts them from there.
    """
    try:
        state, *fields = (
            Path(f"/proc/{pid:d}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except (FileNotFoundError, ProcessLookupError):
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return None if state in "ZX" else f"{boot}/{fields[18]}"


def is_alive(pid: int, birth: str | None) -> bool:
    """Whether the process with this number and birth lives."""
    return birth is not None and birth_of(pid) == birth


def _environment(process: psutil.Process) -> dict[str, str]:
    """Not by psutil, which reads up to the first empty entry: one that has given itself a title may have some."""
    entries: list[bytes] = []
    threads = sorted(Path(f"/proc/{process.pid}/task").iterdir(), key=lambda thread: int(thread.name))
    for thread in threads:  # the first one's first
        with suppress(ProcessLookupError):  # one that has ended; the process's environment is in the others
            entries = (thread / "environ").read_bytes().split(b"\0")
            break
    pairs = (os.fsdecode(entry).partition("=") for entry in entries)
    return {name: value for name, _, value in pairs}


def _is_of(named: str | None, folder: Path) -> bool:
    if named is None:
        return False
    try:
        return Path(named).samefile(folder)
    except (FileNotFoundError, NotADirectoryError):
        return folder.exists()


def _is_dead(process: psutil.Process) -> bool:
    """Whether all of its threads have ended: while a killed one is still in the kernel, it may make a file there."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.pid})"
    except psutil.NoSuchProcess:
        return str(process.pid)
