"""The launcher of a run: starts the driver in a session of its own, passes on requests to stop, clears up after it.

Two processes watch each other. The launcher is the one that the user, the shell and Slurm know; the driver, in a
session of its own, so that a Ctrl-C reaches the launcher alone, is the one that Ray knows. If the driver ends, however
it ends, the launcher ends what is left of the run; if the launcher is killed, the driver does so. Either way no process
and no shared memory stays.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

from pacs.runs.checkpoints import newest_checkpoint
from pacs.runs.clearing import clear, clear_former_start
from pacs.runs.console import say
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN
from pacs.runs.room import write_at_any_rate
from pacs.runs.segments import note_segments
from pacs.runs.state import (
    CAUSE_CHARS,
    forget_former_start,
    now,
    read_fault,
    read_progress,
    state_of_start,
    worded,
    write_state,
)
from pacs.runs.temporary import TEMPORARY, make_temporary, temporary_folder

#: Exit statuses of `pacs train`. A launcher may requeue a run that was stopped: EX_TEMPFAIL of sysexits.h.
FINISHED, FAILED, REFUSED, STOPPED = 0, 1, 2, 75
#: Makes the trainer end after the step it is in.
STOP_REQUEST = "stop"
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)
POLL_SECONDS = 0.2
#: Seconds in which the processes of a run that has ended by itself are to end, before they are killed.
GRACE_SECONDS = 3.0


def supervise(module: str, run_dir: Path, checkpoints: Path, *, resumed_from: int | None) -> int:
    """Run the driver until it ends; say how it ended, and leave nothing behind.

    Args:
        module: the driver's; it calls `driver.run_driver`. A program of its own, not a fork of this one: a process that
            has asked for the number of GPUs cannot be forked into one that uses them.
        run_dir: the run's folder; this process holds its lock.
        checkpoints: the folder of its checkpoints.
        resumed_from: the step it goes on from, for the record.

    Returns:
        The exit status.

    Raises:
        OSError: If the run's folder or the one for temporary files cannot be written; nothing was started.
    """
    clear_former_start(run_dir)
    forget_former_start(run_dir)
    (run_dir / STOP_REQUEST).unlink(missing_ok=True)
    token = uuid4().hex
    temporary = temporary_folder(token)
    state = state_of_start(run_dir, token, resumed_from=resumed_from, temporary=temporary)
    os.environ |= {TOKEN: token, RUN_DIR: str(run_dir), TEMPORARY: str(temporary), KEEP_ENVIRONMENT: "1"}
    before = note_segments(run_dir)
    make_temporary(temporary)
    launcher = _Launcher(run_dir, state.token)
    with launcher.listening():
        write_state(run_dir, state)
        status, cause = launcher.run(module)
        ended = {FINISHED: "finished", STOPPED: "stopped"}.get(status, "failed")
        grace_seconds = 0.0 if ended == "failed" else GRACE_SECONDS
        clear(run_dir, token, grace_seconds=grace_seconds, temporary=str(temporary), before=before)
        final = replace(state, state=ended, ended=now(), cause=cause, exit_status=status)  # type: ignore[arg-type]
        try:
            write_state(run_dir, final)
        except OSError as error:  # a full disk: the exit status and the console still tell
            say(f"pacs train: the run's state cannot be written: {error}", error=True)
        if ended != "finished":
            say(ending(ended, cause, checkpoints), error=True)
    return status


def ending(state: str, cause: str | None, checkpoints: Path) -> str:
    """What the user reads when a run has not reached its end."""
    checkpoint, problems = newest_checkpoint(checkpoints)
    lines = [f"pacs train: the run {'was stopped' if state == 'stopped' else state}: {cause}"]
    lines += [f"  passed over: {problem}" for problem in problems]
    if checkpoint is None:
        lines.append("  It has no checkpoint; the same command starts it anew.")
    else:
        lines.append(f"  The same command goes on from step {checkpoint.step} ({checkpoint.folder}).")
    return "\n".join(lines)


class _Launcher:
    """The launcher's side of one start."""

    def __init__(self, run_dir: Path, token: str) -> None:
        self.run_dir, self.token = run_dir, token
        self.signals: list[str] = []
        self.before: dict[int, Any] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of signals, to the end: one that comes while the run is cleared up must not cut that off."""
        self.before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in self.before.items():
            if handler is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._note)
        try:
            yield
        finally:
            for number, handler in self.before.items():
                signal.signal(number, handler)

    def run(self, module: str) -> tuple[int, str | None]:
        """Start the driver and wait for its end; the exit status and the cause."""
        alive, here = os.pipe()
        said, saying = os.pipe()
        os.set_blocking(said, False)
        command = [sys.executable, "-m", module, str(self.run_dir), str(alive), str(saying)]
        driver = subprocess.Popen(command, pass_fds=(alive, saying), start_new_session=True)
        try:
            return self._wait(driver, said)
        except Exception as error:  # a shared file system that is away; what is running must not go on alone
            say(traceback.format_exc(), error=True)
            return FAILED, f"the launcher failed: {type(error).__name__}: {error}"
        finally:
            driver.kill()
            driver.wait()
            for descriptor in (alive, here, said, saying):
                os.close(descriptor)

    def _wait(self, driver: subprocess.Popen[bytes], said: int) -> tuple[int, str | None]:
        asked = 0
        while True:
            with suppress(subprocess.TimeoutExpired):
                return self._outcome(driver.wait(POLL_SECONDS), said)
            if len(self.signals) == asked:
                continue
            asked = len(self.signals)
            name, progress = self.signals[-1], read_progress(self.run_dir)
            if asked > 1:
                return 128 + signal.Signals[name], f"{name}, at once, by a second signal"
            if progress is None or progress.phase == "start":
                return STOPPED, f"{name}, before the first step"
            write_at_any_rate(self.run_dir / STOP_REQUEST, "")
            say(
                f"pacs train: {name}: the run ends after this step and saves ({progress.step} are done); a second "
                "signal ends it at once"
            )

    def _outcome(self, status: int, said: int) -> tuple[int, str | None]:
        fault, progress = read_fault(self.run_dir, self.token), read_progress(self.run_dir)
        if status == 0 and fault is None:
            if progress is not None and progress.phase == "stopped":
                return STOPPED, f"{self.signals[-1] if self.signals else STOP_REQUEST}, after step {progress.step}"
            return FINISHED, None
        if fault is None and status < 0:
            name = signal.Signals(-status).name
            hint = "; the kernel does so when memory runs out (see dmesg)" if name == "SIGKILL" else ""
            fault = f"the driver (process of Ray's job) was ended by {name}{hint}"
        if fault is None:
            with suppress(BlockingIOError):  # it has said nothing
                fault = os.read(said, 4 * CAUSE_CHARS).decode(errors="replace")
        return FAILED, worded(fault or f"the driver ended with status {status}; its error is above", self.run_dir)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(signal.Signals(number).name)
        before = self.before[number]
        if callable(before) and before is not signal.default_int_handler:
            before(number, frame)  # whoever has started this run (a sweep) is to know it, too
