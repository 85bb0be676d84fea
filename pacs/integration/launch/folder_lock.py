"""Hold the run's folder: one start at a time, and room to write."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pacs.base import locks
from pacs.base.files import nearest
from pacs.integration.checks import ConfigError
from pacs.runs.clearing import launcher_lives
from pacs.runs.disk_space import FULL_BYTES, NO_ROOM, NO_SPACE, reserved, temporary_folders, try_out
from pacs.runs.state import RunState, read_state

T = TypeVar("T")
ANOTHER = "choose another folder"


@contextmanager
def held(run_dir: Path, checkpoints: Path) -> Iterator[None]:
    """Make the run's folder, hold its lock and a reserve of room in it; the lock goes with this process.

    Args:
        run_dir: the run's folder.
        checkpoints: that of its checkpoints.

    Raises:
        ConfigError: If a run is training there, or a disk that the run writes to is full, now or when the run's files
            are written.
    """
    with _lock(run_dir, locks.locked):
        _check_launcher(run_dir)
        check_room(run_dir, checkpoints)
        try:
            with reserved(run_dir):
                yield
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise ConfigError(_no_room(f"run.dir={run_dir}", run_dir, error)) from error


def look_at(run_dir: Path) -> None:
    """Raise ConfigError if a run is training in the folder; write nothing."""
    _lock(run_dir, locks.check_free)
    _check_launcher(run_dir)


def check_room(run_dir: Path, checkpoints: Path) -> None:
    """Raise ConfigError if the disk of the run's folder or its checkpoints, or one for temporary files, is full."""
    given = {"run.dir": run_dir, "trainer.default_local_dir": checkpoints}
    named = [(f"{key}={folder}", folder, ANOTHER) for key, folder in given.items()]
    try:
        named += [(f"{folder}, for temporary files", folder, "set TMPDIR to another") for folder in temporary_folders()]
    except OSError as error:
        problem = f"There is no folder for temporary files ({error}): make room in /tmp, or set TMPDIR."
        raise ConfigError(problem) from error
    for what, folder, mend in named:
        there = nearest(folder)
        try:
            try_out(there)
        except OSError as error:
            raise ConfigError(_no_room(what, there, error, mend)) from error


def _no_room(what: str, folder: Path, error: OSError, mend: str = ANOTHER) -> str:
    if error.errno not in NO_ROOM:
        return f"{what} cannot be written ({error}): {mend}."
    free = shutil.disk_usage(folder).free
    words = NO_SPACE if free < FULL_BYTES else os.strerror(error.errno or 0)
    return f"{what}: {words}: {folder} has {free:,} bytes free: make room there, or {mend}."


def _lock(run_dir: Path, take: Callable[[Path], T]) -> T:
    """What `take` returns; its errors in the words of a run."""
    try:
        return take(run_dir)
    except locks.Taken:
        raise ConfigError(_taken(run_dir, read_state(run_dir))) from None
    except locks.NoLocks as error:
        problem = f"run.dir={run_dir}: its file system has no locks ({error}): choose a folder on another."
        raise ConfigError(problem) from error
    except OSError as error:
        raise ConfigError(_no_room(f"run.dir={run_dir}", nearest(run_dir), error)) from error


def _check_launcher(run_dir: Path) -> None:
    """Where the lock was removed, or is seen by one mount of the file system alone, the launcher still tells."""
    state = read_state(run_dir)
    if state is not None and state.pid != os.getpid() and launcher_lives(run_dir, state):
        raise ConfigError(_taken(run_dir, state))


def _taken(run_dir: Path, state: RunState | None) -> str:
    who = f" (process {state.pid} on {state.host}, since {state.started})" if state else ""
    return f"run.dir={run_dir}: a run is training in this folder{who}. Stop it, or choose another folder."
