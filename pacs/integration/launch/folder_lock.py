"""Hold the run's folder: one start at a time, room to write, and in it what a run writes there."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pacs.base import locks
from pacs.base.files import nearest
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.integration.checks.run import ConfigError, refuse
from pacs.runs.clearing import launcher_lives
from pacs.runs.disk_space import FULL_BYTES, NO_ROOM, NO_SPACE, reserved, temporary_folders, try_out
from pacs.runs.read import read_lines
from pacs.runs.state import now, read_state, this_host

T = TypeVar("T")
ANOTHER = "choose another folder"


@contextmanager
def held(run_dir: Path) -> Iterator[None]:
    """Make the run's folder, hold its lock and a reserve of room in it; the lock goes with this process.

    Raises:
        ConfigError: If a run is training there, or a disk that the run writes to is full, now or when the run's files
            are written.
    """
    with _lock(run_dir, locks.locked) as lock:
        _check_launcher(run_dir)
        check_room(run_dir)
        try:
            with reserved(run_dir):
                lock.truncate(0)
                lock.write(_named(os.getpid(), this_host(), now()))  # state.json is the former start's for a while
                lock.flush()
                yield
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise ConfigError(_no_room(f"run.dir={run_dir}", run_dir, error)) from error


def look_at(run_dir: Path) -> None:
    """Raise ConfigError if a run is training in the folder; write nothing."""
    _lock(run_dir, locks.check_free)
    _check_launcher(run_dir)


def check_contents(run_dir: Path) -> None:
    """Refuse what would stop a start that goes on there, and say which lines of metrics.jsonl are damaged.

    Its last line is left out, which a run that was killed may have cut off.

    Raises:
        ConfigError: What is there is not of the kind that a run writes, or may not be read and written.
    """
    problems = []
    metrics = RunFolder(run_dir).metrics
    try:
        for name in (*RunFolder.FOLDERS, *RunFolder.FILES):
            place, is_folder = run_dir / name, name in RunFolder.FOLDERS
            if not os.path.lexists(place):
                continue
            if is_folder != place.is_dir() or not (is_folder or place.is_file()):
                wanted = "folder" if is_folder else "file"
                problems.append(f"run.dir={run_dir}: {name} is no {wanted}: move it away, or choose another folder.")
            elif not os.access(place, os.R_OK | os.W_OK | (os.X_OK if is_folder else 0)):
                may_not = "may not be read and written by this user"
                problems.append(f"run.dir={run_dir}: {name} {may_not}: mend that (chown, chmod).")
        lines = read_lines(metrics)[:-1] if metrics.is_file() else []
    except OSError as error:
        raise ConfigError(f"run.dir={run_dir} cannot be read ({error}): choose another folder.") from error
    refuse(problems)
    for line in lines:
        if line.damage is not None:
            damaged = f"{metrics}:{line.number} is damaged ({line.damage})"
            print(f"pacs: {damaged}: it is left where it is and passed over", flush=True)


def check_room(run_dir: Path) -> None:
    """Raise ConfigError if the disk of the run's folder or its checkpoints, or one for temporary files, is full."""
    given = {"run.dir": run_dir, "trainer.default_local_dir": RunFolder(run_dir).checkpoints}
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
    except locks.Taken as error:
        raise ConfigError(_taken(run_dir, str(error))) from None
    except locks.NoLocks as error:
        problem = f"run.dir={run_dir}: its file system has no locks ({error}): choose a folder on another."
        raise ConfigError(problem) from error
    except OSError as error:
        raise ConfigError(_no_room(f"run.dir={run_dir}", nearest(run_dir), error)) from error


def _check_launcher(run_dir: Path) -> None:
    """Where the lock was removed, or is seen by one mount of the file system alone, the launcher still tells."""
    state = read_state(run_dir)
    if state is not None and state.pid != os.getpid() and launcher_lives(run_dir, state):
        raise ConfigError(_taken(run_dir, _named(state.pid, state.host, state.started)))


def _named(pid: int, host: str, since: str) -> str:
    return f"process {pid} on {host}, since {since}"


def _taken(run_dir: Path, by: str) -> str:
    who = f" ({by})" if by else ""
    return f"run.dir={run_dir}: a run is training in this folder{who}. Stop it, or choose another folder."
