"""The stacks of a run's Python processes, for a run that hangs.

Every process registers a signal that makes Python's faulthandler write the stacks of all its threads, which works while
the process waits in a collective or holds the GIL. The watchdog sends the signal and collects what was written. The
handler may read the stack of a thread that runs, and so crash a process that does not hang; whoever asks for stacks
means to end the run, and says why before.
"""

import contextlib
import faulthandler
import os
import signal
import time
from pathlib import Path
from typing import TextIO

import psutil

from pacs.base.redaction import redacted_command
from pacs.base.run_folder import RunFolder
from pacs.runs.processes import RUN_DIR, processes_of

SIGNAL = signal.SIGUSR2
FOLDER = "stacks"

_open: list[TextIO] = []


def register() -> None:
    """Make this process write its stacks to `stacks/<host>-<pid>.txt` on the signal; nothing outside a run."""
    run_dir = os.environ.get(RUN_DIR)
    if run_dir is None or _open:
        return
    folder = RunFolder(run_dir).stacks
    folder.mkdir(exist_ok=True)
    # Kept open for the process's life: faulthandler holds only the descriptor.
    _open.append(_part(folder, os.getpid()).open("w", encoding="utf-8"))
    faulthandler.register(SIGNAL, _open[0], all_threads=True)


def dump_on_this_node(run_dir: Path, token: str, *, wait_seconds: float = 2.0) -> Path | None:
    """Have every process of the start on this machine write its stacks; collect them in one file.

    Args:
        run_dir: the run's folder.
        token: the start's.
        wait_seconds: how long the processes are given to write.

    Returns:
        The file; None if no process wrote anything.
    """
    this = psutil.Process()
    others = [process for process in processes_of(token) if process != this and _listens(process)]
    for process in others:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(SIGNAL)
    if _open:  # by a call, which holds the GIL: this process is the one that surely runs
        faulthandler.dump_traceback(_open[0], all_threads=True)
    time.sleep(wait_seconds)
    processes = [this, *others]
    folder = run_dir / FOLDER
    parts = {process: _read(_part(folder, process.pid)) for process in processes}
    if not any(parts.values()):
        return None
    file = folder / f"hang-{time.strftime('%Y%m%d-%H%M%S')}-{os.uname().nodename}.txt"
    file.write_text("\n".join(f"==== {_title(p)}\n{text}" for p, text in parts.items() if text), encoding="utf-8")
    return file


def clear_empty(run_dir: Path) -> None:
    """Remove the files of processes that had nothing to write."""
    for part in (run_dir / FOLDER).glob("*.txt"):
        if not part.name.startswith("hang-"):
            part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or not there
        (run_dir / FOLDER).rmdir()


def _part(folder: Path, pid: int) -> Path:
    return folder / f"{os.uname().nodename}-{pid}.txt"


def _read(part: Path) -> str:
    return part.read_text(encoding="utf-8") if part.exists() else ""


def _title(process: psutil.Process) -> str:
    try:
        return f"{' '.join(redacted_command(process.cmdline()))[:120]} (pid {process.pid}, {process.status()})"
    except psutil.NoSuchProcess:
        return f"pid {process.pid}, now gone"


def _listens(process: psutil.Process) -> bool:
    """Whether the process handles the signal; to another it would be deadly."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:")).split()[1]
        return bool(int(caught, 16) >> (SIGNAL - 1) & 1)
    return False
