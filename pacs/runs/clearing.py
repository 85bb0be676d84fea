"""Leave nothing behind: processes, shared memory, temporary and empty files.

    python -m pacs.runs.clearing RUN_DIR TOKEN

clears up after the start with that token, whose launcher was killed. The driver starts it as a process of its own: it
would not outlive what it ends, since Ray ends a driver whose daemons are gone.
"""

import os
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pacs.base.terminal import say
from pacs.runs.disk_space import RESERVE
from pacs.runs.leftovers import TEMPORARY, forget_segments, remove_segments, remove_temporary, segments_before
from pacs.runs.processes import end_processes, is_alive, processes_of
from pacs.runs.stacks import clear_empty
from pacs.runs.state import RunState, now, read_fault, read_state, this_host, write_state

KILLED = "the launcher (pacs train) was killed"


def clear(
    run_dir: Path,
    token: str,
    *,
    grace_seconds: float,
    temporary: str | None,
    before: Collection[str] | None = None,
    known: bool = True,
) -> list[str]:
    """End a start's processes on this machine and remove what they leave; the names of those that had to be killed.

    Args:
        run_dir: the run's folder.
        token: the start's.
        grace_seconds: how long the processes are given to end by themselves.
        temporary: the start's folder for temporary files, or None.
        before: the shared memory that was there before the start; None: what the run's folder says.
        known: whether it is sure that the start is one of this folder; else only processes are ended that carry it.
    """
    folder = None if known else run_dir
    if before is None:
        before = segments_before(run_dir, [process.pid for process in processes_of(token, folder=folder)])
    killed = end_processes(token, grace_seconds=grace_seconds, folder=folder)
    remove_segments(before)
    forget_segments(run_dir)
    remove_temporary(temporary, token)
    clear_empty(run_dir)
    return killed


def launcher_lives(run_dir: Path, state: RunState) -> bool:
    """Whether the launcher of a start that is said to be running in this folder is there, on this machine."""
    return _is_running_here(run_dir, state) and is_alive(state.pid, state.birth)


def clear_former_start(run_dir: Path) -> bool:
    """Clear up after the last start in this folder if it counts as running here, and nobody watches over it.

    This process holds the folder's lock. What the state of a copied folder says is of another folder's run, which is
    left alone.

    Returns:
        Whether there was anything to clear up.
    """
    state = read_state(run_dir)
    if state is None or not _is_running_here(run_dir, state) or is_alive(state.pid, state.birth):
        return False
    for process in clear(run_dir, state.token, grace_seconds=0, temporary=state.temporary, known=False):
        say(f"pacs train: ended a process that was left of the last start: {process}")
    _count_as_failed(run_dir, state)
    return True


def clear_after_launcher(run_dir: Path, token: str) -> None:
    """Clear up after the start with this token, one of this machine, whose launcher was killed."""
    state = read_state(run_dir)
    if state is not None and state.token != token:  # another start has begun, and what is there is of that one
        end_processes(token, grace_seconds=0)
        return
    clear(run_dir, token, grace_seconds=0, temporary=os.environ.get(TEMPORARY))
    if state is None or not state.is_of(run_dir):  # the folder was moved, or another is in its place
        return
    if state.state == "running" and read_state(run_dir) == state:  # no other start has begun meanwhile
        _count_as_failed(run_dir, state)
        (run_dir / RESERVE).unlink(missing_ok=True)


def _is_running_here(run_dir: Path, state: RunState) -> bool:
    return state.state == "running" and state.host == this_host() and state.is_of(run_dir)


def _count_as_failed(run_dir: Path, state: RunState) -> None:
    cause = read_fault(run_dir, state.token) or KILLED
    write_state(run_dir, replace(state, state="failed", ended=now(), cause=cause, exit_status=1))


if __name__ == "__main__":
    clear_after_launcher(Path(sys.argv[1]), sys.argv[2])
