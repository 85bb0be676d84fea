"""The launcher of a run: starts the driver in a session of its own, passes on requests to stop, clears up after it.

Two processes watch each other. The launcher is the one that the user, the shell and Slurm know; the driver, in a
session of its own, so that a Ctrl-C reaches the launcher alone, is the one that Ray knows. If the driver ends, however
it ends, the launcher ends what is left of the run; if the launcher is killed, the driver does so. Either way no process
and no shared memory stays.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from pacs.base.run_folder import RunFolder
from pacs.base.stops import ONE_REQUEST_SECONDS
from pacs.base.terminal import say
from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs import clearing
from pacs.runs import state as states
from pacs.runs.console import Console, Stages
from pacs.runs.disk_space import write_at_any_rate
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN
from pacs.runs.signals import STOPPED as STOPPED
from pacs.runs.signals import StopRequests, blocked

#: Exit statuses of `pacs train`. A launcher may requeue a run that was stopped: EX_TEMPFAIL of sysexits.h.
FINISHED, FAILED, REFUSED = 0, 1, 2
POLL_SECONDS = 0.2
#: Seconds in which the processes of a run that has ended by itself are to end, before they are killed.
GRACE_SECONDS = 3.0


class Driver:
    """The driver's process, which imports what it needs and waits until `supervise` has it begin.

    As a context it is ended at the end: a run that is refused leaves nothing. It imports meanwhile: start it as soon as
    the run's folder is known and it is likely that the run will start.

    Args:
        module: the driver's; it calls `driver.run_driver`. A program of its own, not a fork of this one: a process that
            has asked for the number of GPUs cannot be forked into one that uses them.
        run_dir: the run's folder, which need not be there yet.
    """

    def __init__(self, module: str, run_dir: Path) -> None:
        self.run_dir, self.token, self.before = run_dir, uuid4().hex, clearing.segments_there()
        self.temporary = clearing.temporary_folder(self.token)
        self.environment = {TOKEN: self.token, RUN_DIR: str(run_dir), KEEP_ENVIRONMENT: "1"}
        self.environment |= {clearing.TEMPORARY: str(self.temporary)}
        alive, self.here = os.pipe()
        self.said, saying = os.pipe()
        self.reading, output = os.pipe()
        os.set_blocking(self.said, False)
        command = [sys.executable, "-m", module, str(run_dir), str(alive), str(saying)]
        with blocked():  # the launcher alone heeds the signals
            self.process = subprocess.Popen(
                command,
                pass_fds=(alive, saying),
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | self.environment,
            )
        self.descriptors = [alive, self.here, self.said, saying, self.reading]
        os.close(output)

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        while self.descriptors:
            os.close(self.descriptors.pop())

    def begin(self) -> None:
        """Have it drive; one that has ended meanwhile is for `supervise` to see."""
        os.write(self.here, b"b")


def supervise(
    driver: Driver, requests: StopRequests, *, resumed_from: int | None, stages: Stages = (), verbose: bool = False
) -> int:
    """Run the driver until it ends; say how it ended, and leave nothing behind.

    Args:
        driver: entered by the caller; this process holds the lock of its folder.
        requests: entered by the caller, who leaves it when all is cleared up: a signal must not cut that off.
        resumed_from: the step it goes on from, for the record.
        stages: of the start, which are said as they are reached; see `Console`.
        verbose: say all that the run's processes say.

    Returns:
        The exit status.

    Raises:
        OSError: If the run's folder or the one for temporary files cannot be written; nothing was started.
    """
    run_dir, token, temporary = driver.run_dir, driver.token, driver.temporary
    clearing.clear_former_start(run_dir)
    states.forget_former_start(run_dir)
    (RunFolder(run_dir).stop).unlink(missing_ok=True)
    state = states.state_of_start(run_dir, token, resumed_from=resumed_from, temporary=temporary)
    os.environ |= driver.environment
    clearing.note_segments(run_dir, driver.before)
    clearing.make_temporary(temporary)
    requests.heeded = True
    with blocked():  # this thread alone heeds the signals
        console = Console(run_dir, os.dup(driver.reading), stages, verbose=verbose)
        console.start()
    launcher = _Launcher(driver, requests)
    states.write_state(run_dir, state)
    status, cause = launcher.run()
    grace_seconds = 0.0 if status == FAILED or launcher.at_once else GRACE_SECONDS
    clearing.clear(run_dir, token, grace_seconds=grace_seconds, temporary=str(temporary), before=driver.before)
    console.end()
    if launcher.at_once:
        # Only now is it certain whether the save was done.
        status, cause = launcher.ended_by_itself() or (status, cause)
    ended = {FINISHED: "finished", STOPPED: "stopped"}.get(status, "failed")
    if ended == "failed" and console.engine_error is not None:
        cause = states.worded(f"{cause}; vLLM: {console.engine_error}", run_dir)
    final = replace(state, state=ended, ended=states.now(), cause=cause, exit_status=status)  # type: ignore[arg-type]
    try:
        there = states.read_state(run_dir)
        if there is None or there.token == token:  # else another start has taken over the folder
            states.write_state(run_dir, final)
    except OSError as error:  # a full disk: the exit status and the console still tell
        say(f"pacs train: the run's state cannot be written: {error}", error=True)
    if ended == "finished":
        say(_finish(run_dir))
    else:
        say(_ending(ended, cause, run_dir), error=True)
    return status


def _finish(run_dir: Path) -> str:
    """What the user reads when a run has reached its end."""
    progress, folder = states.read_progress(run_dir), shlex.quote(str(run_dir))
    steps = "" if progress is None else f": {progress.step} of {progress.total_steps} steps"
    return (
        f"pacs train: the run is finished{steps} ({run_dir})\n"
        f"  its trained model, for transformers and vLLM: pacs export {folder} --out {folder}/model\n"
        f"  its curves, and what they show: pacs report {folder} --out {folder}/report"
    )


def _ending(state: str, cause: str | None, run_dir: Path) -> str:
    """What the user reads when a run has not reached its end."""
    checkpoint, problems = newest_checkpoint(RunFolder(run_dir).checkpoints)
    lines = [f"pacs train: the run {'was stopped' if state == 'stopped' else state}: {cause}"]
    if state == "failed":
        lines.append(f"  All that its processes have said is in {RunFolder(run_dir).log}.")
    lines += [f"  passed over: {problem}" for problem in problems]
    if checkpoint is None:
        lines.append("  It has no checkpoint; the same command starts it anew.")
    else:
        lines.append(f"  The same command goes on from step {checkpoint.step} ({checkpoint.folder}).")
    return "\n".join(lines)


class _Launcher:
    """The launcher's side of one start."""

    def __init__(self, driver: Driver, requests: StopRequests) -> None:
        self.driver, self.run_dir, self.requests = driver, driver.run_dir, requests
        self.at_once = False

    def run(self) -> tuple[int, str | None]:
        """Have the driver begin and wait for its end; the exit status and the cause."""
        self.driver.begin()
        try:
            return self._wait()
        except Exception as error:  # a shared file system that is away; what is running must not go on alone
            say(traceback.format_exc(), error=True)
            return FAILED, f"the launcher failed: {type(error).__name__}: {error}"
        finally:
            self.driver.process.kill()
            self.driver.process.wait()

    def _wait(self) -> tuple[int, str | None]:
        asked = 0
        while True:
            with suppress(subprocess.TimeoutExpired):
                return self._outcome(self.driver.process.wait(POLL_SECONDS))
            if len(self.requests.names) == asked:
                continue
            name, progress = self.requests.names[-1], states.read_progress(self.run_dir)
            if progress is None or progress.phase == "start":
                return STOPPED, f"{name}, before the first step"
            if asked > 0:
                self.at_once = True
                return 128 + signal.Signals[name], f"{name}, at once, by a second signal"
            time.sleep(ONE_REQUEST_SECONDS)
            asked = len(self.requests.names)
            if self.ended_by_itself() is None:
                write_at_any_rate(RunFolder(self.run_dir).stop, "")
                say(
                    f"pacs train: {self.requests.names[0]}: the run ends after this step and saves ({progress.step} "
                    "are done); a second signal ends it at once"
                )

    def _outcome(self, status: int) -> tuple[int, str | None]:
        progress = states.read_progress(self.run_dir)
        if status != 0 and self.requests.names and (progress is None or progress.phase == "start"):
            # A part that was still starting may have died of the signal, if that came to all of them: no fault.
            return STOPPED, f"{self.requests.names[-1]}, before the first step"
        fault = states.read_fault(self.run_dir, self.driver.token)
        if status == 0 and fault is None:
            return self.ended_by_itself() or (FINISHED, None)
        if fault is None and status < 0:
            name = signal.Signals(-status).name
            hint = "; the kernel does so when memory runs out (see dmesg)" if name == "SIGKILL" else ""
            fault = f"the driver (process of Ray's job) was ended by {name}{hint}"
        if fault is None:
            with suppress(BlockingIOError):  # it has said nothing
                fault = os.read(self.driver.said, 4 * states.CAUSE_CHARS).decode(errors="replace")
        return FAILED, states.worded(
            fault or f"the driver ended with status {status}; its last words are in {RunFolder.LOG}", self.run_dir
        )

    def ended_by_itself(self) -> tuple[int, str | None] | None:
        """The exit status and the cause of a run whose trainer has nothing left to save; else None."""
        progress = states.read_progress(self.run_dir)
        if progress is not None and progress.phase == "end":
            return FINISHED, None
        if progress is not None and progress.phase == "stopped":
            names = self.requests.names
            return STOPPED, f"{names[0] if names else RunFolder.STOP}, after step {progress.step}"
        return None
