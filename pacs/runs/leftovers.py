"""What one start of a run leaves on this machine beside its processes: shared memory, and a folder of temporary files.

A segment of shared memory does not say who has made it. A start's are those that were not there before it, whatever
the clock said then and says now. What vLLM, zmq and torch leave in a start's own folder goes with that.
"""

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pacs.base.files import read_json, write_atomically

#: Names in /dev/shm of what vLLM, torch, multiprocessing (with joblib's, which verl imports) and verl make.
SEGMENTS = ("psm_*", "torch_*", "sem.mp-*", "sem.loky-*", "verl_weights_*")
SHARED_MEMORY = Path("/dev/shm")


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


def note_segments(run_dir: Path) -> list[str]:
    """Write to the run's folder which segments this machine has before a start; return them."""
    before = segments_there()
    write_atomically(_note(run_dir), json.dumps({"before": before}) + "\n")
    return before


def segments_before(run_dir: Path, pids: Iterable[int]) -> list[str]:
    """What `note_segments` has written here; without it, all but those that these processes map or have open."""
    noted = (read_json(_note(run_dir)) or {}).get("before")
    if isinstance(noted, list):
        return noted
    own = set(_used_inodes(Path(f"/proc/{pid}") for pid in pids))
    return [name for name in segments_there() if _inode(name) not in own]


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
        if (status := _status(file)) is not None and status.st_uid == os.getuid()
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


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


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
    """What the processes of a start have in their environment, so that they use its folder.

    What torch.compile has made stays where it would be without: it is to outlive the start.
    """
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR", default_cache_dir())
    return {"TMPDIR": os.environ[TEMPORARY], "TORCHINDUCTOR_CACHE_DIR": compiled}
