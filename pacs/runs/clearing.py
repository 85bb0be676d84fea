"""Leave nothing behind: processes, shared memory, temporary and empty files.

    python -m pacs.runs.clearing RUN_DIR TOKEN

clears up after the start with that token, whose launcher was killed. The driver starts it as a process of its own: it
would not outlive what it ends, since Ray ends a driver whose daemons are gone.

A segment of shared memory does not say who has made it. A start's are those that were not there before it, whatever
the clock said then and says now. What vLLM, zmq and torch leave in a start's own folder goes with that.
"""

import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pacs.base.files import read_json, status_of, write_atomically
from pacs.base.terminal import say
from pacs.runs.disk_space import RESERVE, SHARED_MEMORY
from pacs.runs.processes import RUN_DIR, TOKEN, end_processes, is_alive, processes_of
from pacs.runs.stacks import clear_empty
from pacs.runs.state import RunState, now, read_fault, read_state, this_host, write_state

#: Names in /dev/shm of what vLLM, torch, multiprocessing (with joblib's, which verl imports) and verl make.
SEGMENTS = ("psm_*", "torch_*", "sem.mp-*", "sem.loky-*", "verl_weights_*")


def segments_there() -> list[str]:
    """This user's segments, each as its name and inode: a name may be given again."""
    return sorted(_segments())


def orphaned_segments(before: Collection[str]) -> list[Path]:
    """This user's segments that are not among `before` (`segments_there`), and that no living process maps or holds."""
    found = {name: file for name, file in _segments().items() if name not in before}
    if not found:
        return []
    used = set(_used_inodes(Path("/proc").glob("[0-9]*")))
    return [file for name, file in found.items() if _inode(name) not in used]


def remove_segments(before: Collection[str]) -> list[str]:
    """Remove the `orphaned_segments`; return their names."""
    orphans = orphaned_segments(before)
    for file in orphans:
        file.unlink(missing_ok=True)
    return sorted(file.name for file in orphans)


def note_segments(run_dir: Path, before: Sequence[str] | None = None) -> None:
    """Write to the run's folder which segments this machine had before a start: `before`, or those of now."""
    write_atomically(_note(run_dir), json.dumps({"before": segments_there() if before is None else before}) + "\n")


def segments_before(run_dir: Path, pids: Iterable[int]) -> list[str]:
    """What `note_segments` has written here; without it, all but those that these processes map or have open."""
    noted = (read_json(_note(run_dir)) or {}).get("before")
    if isinstance(noted, list):
        return noted
    used = set(_used_inodes(Path(f"/proc/{pid}") for pid in pids))
    return [name for name in segments_there() if _inode(name) not in used]


def forget_segments(run_dir: Path) -> None:
    """Remove what `note_segments` has written here."""
    _note(run_dir).unlink(missing_ok=True)


def _note(run_dir: Path) -> Path:
    return run_dir / f".segments-{os.uname().nodename}.json"


def _segments() -> dict[str, Path]:
    return {
        f"{file.name}:{status.st_ino}": file
        for pattern in SEGMENTS
        for file in SHARED_MEMORY.glob(pattern)
        if (status := status_of(file)) is not None and status.st_uid == os.getuid()
    }


def _inode(name: str) -> int:
    return int(name.rpartition(":")[2])


def _used_inodes(processes: Iterable[Path]) -> Iterator[int]:
    """Inodes below /dev/shm that these processes (folders of /proc) map or hold open, as far as this user may see.

    Not their paths: glibc makes a semaphore under another name and links it, and it stays mapped under the first.
    """
    for process in processes:
        try:
            maps = (process / "maps").read_text().splitlines()
            descriptors = list((process / "fd").iterdir())
        except OSError:
            continue
        yield from (int(line.split(maxsplit=5)[4]) for line in maps if f"{SHARED_MEMORY}/" in line)
        for descriptor in descriptors:
            # One that is closed meanwhile (in this process, that by which the list was read) hides no other.
            with suppress(OSError):
                if os.readlink(descriptor).startswith(f"{SHARED_MEMORY}/"):  # noqa: PTH115 (a Path is normalised)
                    yield descriptor.stat().st_ino


#: Environment variable of the driver: the folder's path, which the processes of the run get as TMPDIR.
TEMPORARY = "PACS_RUN_TMPDIR"
PREFIX = "pacs-"
#: The longest path of a Unix socket, and what vLLM adds to the folder's for one (a slash and a uuid).
SOCKET_CHARS, SOCKET_NAME_CHARS = 107, 37
#: verl's sockets for weights, which have a place of their own; the run's token is in their names.
WEIGHTS_SOCKETS = "/tmp/rl-colocate-zmq-{token}-*"


def temporary_folder(token: str) -> Path:
    """The path of a start's folder: below TMPDIR, unless that makes paths of sockets too long."""
    name = f"{PREFIX}{token[:12]}"
    folder = Path(tempfile.gettempdir(), name)
    return folder if len(str(folder)) + SOCKET_NAME_CHARS <= SOCKET_CHARS else Path("/tmp", name)


def make_temporary(folder: Path) -> None:
    """Make the folder, for this user alone."""
    folder.mkdir(mode=0o700, exist_ok=True)


def remove_temporary(folder: str | None, token: str) -> None:
    """Remove a start's folder and its sockets; a path that is not one of `temporary_folder`'s is left alone."""
    if folder is not None and Path(folder).name == f"{PREFIX}{token[:12]}" and not Path(folder).is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
    for socket in glob.glob(WEIGHTS_SOCKETS.format(token=glob.escape(token))):  # noqa: PTH207 (an absolute pattern)
        Path(socket).unlink(missing_ok=True)


def temporary_variables() -> dict[str, str]:
    """What the processes of a start have in their environment, so that they use its folder, which is there.

    What torch.compile has made stays where it would be without: it is to outlive the start. Its compiled headers (5 s
    of a core for vLLM on a CPU) torch looks for below TMPDIR alone, so that a link leads there.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    cache, folder = Path(default_cache_dir()), Path(os.environ[TEMPORARY])
    cache.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (folder / cache.name).symlink_to(cache)
    return {"TMPDIR": str(folder), "TORCHINDUCTOR_CACHE_DIR": os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(cache)}


KILLED = "the launcher (pacs train) was killed"


def clear(
    run_dir: Path,
    token: str | None,
    *,
    grace_seconds: float,
    temporary: str | None,
    before: Collection[str] | None = None,
    known: bool = True,
) -> list[str]:
    """End a start's processes on this machine and remove what they leave; the names of those that had to be killed.

    Args:
        run_dir: the run's folder.
        token: the start's; None, of a folder whose state cannot be read: all that carries the folder's path.
        grace_seconds: how long the processes are given to end by themselves.
        temporary: the start's folder for temporary files, or None.
        before: the shared memory that was there before the start; None: what the run's folder says.
        known: whether it is sure that the start is one of this folder; else only processes are ended that carry it.
    """
    folder = None if known else run_dir
    carried, variable = (str(run_dir), RUN_DIR) if token is None else (token, TOKEN)
    if before is None:
        before = segments_before(run_dir, [process.pid for process in processes_of(carried, variable, folder=folder)])
    killed = end_processes(carried, variable=variable, grace_seconds=grace_seconds, folder=folder)
    remove_segments(before)
    forget_segments(run_dir)
    if token is not None:
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
