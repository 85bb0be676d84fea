"""What a run's folder says of the run: state.json, progress.json, fault.json.

None needs a lock: the launcher writes the state (if it was killed, who clears up after it), the trainer the progress,
and the part that finds a fault writes it (the first one wins: later faults follow from it).
"""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

from pacs.base.files import read_json, write_atomically
from pacs.base.redaction import redact
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import COLOURS, say
from pacs.runs.disk_space import with_full_disk, write_at_any_rate
from pacs.runs.processes import TOKEN, birth_of

Ending = Literal["finished", "stopped", "failed"]
T = TypeVar("T")

#: Characters of a cause that are kept: state.json stays in one block of its disk, and a pipe takes it at once.
CAUSE_CHARS = 1000


@dataclass(frozen=True)
class RunState:
    """The launcher's word on the run.

    Attributes:
        state: running, finished, stopped (on request; can go on) or failed.
        token: what every process of this start has in its environment (`processes.TOKEN`).
        host: the machine of the launcher.
        pid: the launcher's process there.
        started: when, ISO 8601, UTC.
        folder: the run's.
        device: of the file system that has it.
        inode: of the folder, by which a copy of it is told.
        birth: of the launcher's process (`processes.birth_of`).
        temporary: the start's folder for temporary files.
        ended: when, or None.
        cause: why it failed or stopped, or None.
        exit_status: of `pacs train`, or None while it runs.
        resumed_from: the step of the checkpoint it went on from; None for a new run.
    """

    state: Literal["running"] | Ending
    token: str
    host: str
    pid: int
    started: str
    folder: str
    device: int
    inode: int
    birth: str | None
    temporary: str
    ended: str | None = None
    cause: str | None = None
    exit_status: int | None = None
    resumed_from: int | None = None

    def is_of(self, run_dir: Path) -> bool:
        """Whether this was said of this very folder, wherever it is now; else it was copied here with the rest.

        A file system may have another number after it was mounted anew, and on another machine.
        """
        there = run_dir.stat()
        same_disk = there.st_dev == self.device or self.folder == str(run_dir.absolute()) or self.host != this_host()
        return there.st_ino == self.inode and same_disk


def state_of_start(run_dir: Path, token: str, *, resumed_from: int | None, temporary: Path) -> RunState:
    """The state of a start that begins in this process and in this folder."""
    there = run_dir.stat()
    return RunState(
        "running",
        token,
        this_host(),
        os.getpid(),
        now(),
        resumed_from=resumed_from,
        folder=str(run_dir.absolute()),
        device=there.st_dev,
        inode=there.st_ino,
        birth=birth_of(os.getpid()),
        temporary=str(temporary),
    )


@dataclass(frozen=True)
class Progress:
    """The trainer's word on how far it is; any change of it is progress.

    Attributes:
        step: the last step whose update is done (0: none).
        total_steps: where the run ends.
        phase: what is being done: start, rollouts, log_probs, values, update_critic, update, save, validate, end.
        count: prompts of this phase whose rollouts are finished.
        step_seconds: median seconds of the steps of this start; None before the first.
    """

    step: int
    total_steps: int
    phase: str
    count: int = 0
    step_seconds: float | None = None


def now() -> str:
    """The time, ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def this_host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def write_state(run_dir: Path, state: RunState) -> None:
    """Write state.json; also on a full disk, if it is there or the folder has its reserve (`room.reserved`)."""
    write_at_any_rate(RunFolder(run_dir).state, json.dumps(asdict(state), indent=1) + "\n")


def read_state(run_dir: Path) -> RunState | None:
    """state.json, or None where there is none that can be read."""
    return _read(RunFolder(run_dir).state, RunState)


def write_progress(run_dir: Path, progress: Progress) -> None:
    """Write progress.json."""
    write_atomically(RunFolder(run_dir).progress, json.dumps(asdict(progress)) + "\n")


def read_progress(run_dir: Path) -> Progress | None:
    """progress.json, or None where there is none that can be read."""
    return _read(RunFolder(run_dir).progress, Progress)


def _read(file: Path, kind: Callable[..., T]) -> T | None:
    values = read_json(file)
    try:
        return None if values is None else kind(**values)
    except TypeError:
        return None


def worded(cause: str, run_dir: Path) -> str:
    """A cause as it is kept: bounded, without colours, and with the disk that is full, if one of the run's is."""
    cause = with_full_disk(COLOURS.sub("", cause)[:CAUSE_CHARS], run_dir)
    return cause if len(cause) <= CAUSE_CHARS else f"{cause[: CAUSE_CHARS - 1]}…"


def report_fault(run_dir: Path, cause: str) -> None:
    """Write why this process's start ends to fault.json, unless it has one: what comes later follows from the first.

    Where it cannot be written, it is said on the console.
    """
    token = os.environ.get(TOKEN)
    cause = redact(worded(cause, run_dir))
    fault = {"cause": cause, "token": token, "time": now(), "host": this_host(), "pid": os.getpid()}
    aside = run_dir / f".{RunFolder.FAULT}.{this_host()}.{os.getpid()}"
    try:
        write_at_any_rate(aside, json.dumps(fault) + "\n")
        try:
            RunFolder(run_dir).fault.hardlink_to(aside)
        except FileExistsError:
            if read_fault(run_dir, token) is None:
                aside.replace(RunFolder(run_dir).fault)  # that one is of another start
        aside.unlink(missing_ok=True)
    except OSError as error:
        say(f"pacs: why the run ends cannot be written ({error}): {cause}", error=True)


def read_fault(run_dir: Path, token: str | None = None) -> str | None:
    """The cause in fault.json, or None; with a token, only if it is of that start."""
    fault = read_json(RunFolder(run_dir).fault)
    if fault is None or "cause" not in fault or (token is not None and fault.get("token") != token):
        return None
    return str(fault["cause"])


def forget_former_start(run_dir: Path) -> None:
    """Remove what the former start in this folder said of its end and its progress."""
    for name in (RunFolder.PROGRESS, RunFolder.FAULT, RunFolder.FAILED_PROMPT):
        (run_dir / name).unlink(missing_ok=True)
