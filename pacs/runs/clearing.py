"""Leave nothing behind: processes, shared memory, empty files.

    python -m pacs.runs.clearing RUN_DIR TOKEN

clears up after the start with that token, whose launcher was killed. The driver starts it as a process of its own: it
would not outlive what it ends, since Ray ends a driver whose daemons are gone.
"""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pacs.runs.processes import end_processes, remove_segments
from pacs.runs.stacks import clear_empty
from pacs.runs.state import RunState, now, read_state, this_host, write_state

KILLED = "the launcher (pacs train) was killed"


def clear(run_dir: Path, state: RunState, *, grace_seconds: float) -> list[str]:
    """End a start's processes on this machine and remove what they leave; the names of those that had to be killed.

    Args:
        run_dir: the run's folder.
        state: the start's.
        grace_seconds: how long the processes are given to end by themselves.
    """
    killed = end_processes(state.token, grace_seconds=grace_seconds)
    remove_segments(datetime.fromisoformat(state.started).timestamp())
    clear_empty(run_dir)
    return killed


def clear_after_launcher(run_dir: Path, token: str | None = None) -> list[str]:
    """Clear up after the last start in this folder if it still counts as running here, though it is not watched over.

    Args:
        run_dir: the run's folder.
        token: of the start, if not whichever was the last: another one may have begun.

    Returns:
        The names of the processes that were killed.
    """
    state = read_state(run_dir)
    if state is None or state.state != "running" or state.host != this_host() or token not in (None, state.token):
        return []
    killed = clear(run_dir, state, grace_seconds=0)
    if read_state(run_dir) == state:  # no other start has begun meanwhile
        write_state(run_dir, replace(state, state="failed", ended=now(), cause=KILLED, exit_status=1))
    return killed


if __name__ == "__main__":
    clear_after_launcher(Path(sys.argv[1]), sys.argv[2])
