"""Room on the disks of a run, and words for a disk that has none left.

A run keeps a reserve in its folder, which is given up in time of need: so that its state, and why it has ended, can
still be written.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pacs.base.files import write_atomically
from pacs.runs.leftovers import SHARED_MEMORY

RESERVE = ".reserve"
#: A disk with less is full; a start that cannot write as much is refused.
FULL_BYTES = 4 * 2**20
#: What the system answers on a full disk, or where a quota is used up.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE = os.strerror(errno.ENOSPC)
#: Of a file system that counts its files.
FEW_FILES = 8


@contextmanager
def reserved(run_dir: Path) -> Iterator[None]:
    """Keep the reserve in the run's folder meanwhile.

    Raises:
        OSError: If there is no room for it; nothing is left of it.
    """
    reserve = run_dir / RESERVE
    try:
        write_atomically(reserve, os.urandom(FULL_BYTES))  # which no file system makes smaller
        yield
    finally:
        reserve.unlink(missing_ok=True)


def try_out(folder: Path) -> None:
    """Write to a folder as much as a disk must take that is not full, and remove it.

    Raises:
        OSError: If it cannot be written.
    """
    with tempfile.TemporaryFile(dir=folder) as stream:
        stream.write(os.urandom(FULL_BYTES))
        stream.flush()


def write_at_any_rate(file: Path, content: str) -> None:
    """Write a file of the run's folder as `write_atomically` does; on a full disk in the reserve's place.

    If others have taken that, the old content is written over, which takes no room, and a reader may see half of it.

    Raises:
        OSError: If it cannot be written.
    """
    try:
        write_atomically(file, content)
        return
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
    (file.parent / RESERVE).unlink(missing_ok=True)
    try:
        write_atomically(file, content)
    except OSError:
        if not file.exists():
            raise
        with file.open("r+b") as stream:
            stream.write(content.encode())
            stream.truncate()


def temporary_folders() -> list[Path]:
    """Where Python and Ray put temporary files.

    Raises:
        OSError: If Python finds no folder that it can write to.
    """
    ray = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    return list(dict.fromkeys((Path(ray), Path(tempfile.gettempdir()))))


def with_full_disk(cause: str, run_dir: Path) -> str:
    """The cause of a failure, with the run's disk that is full, if one is: it is seldom in the words of what fails."""
    if "bytes free" in cause:
        return cause
    try:
        places = [run_dir, *temporary_folders(), SHARED_MEMORY]
    except OSError:
        places = [run_dir, Path("/tmp"), SHARED_MEMORY]
    rooms = {place: status for place in places if (status := _status(place)) is not None}
    full = {place: status for place, status in rooms.items() if _is_full(status)}
    if full:
        return f"{NO_SPACE}: {_list(full.items())} ({cause})"
    if any(os.strerror(number) in cause for number in NO_ROOM):  # a quota, or what has failed has been removed
        return f"{cause} ({_list(rooms.items())})"
    return cause


def _is_full(status: os.statvfs_result) -> bool:
    few = status.f_files > 0 and status.f_favail < FEW_FILES
    return status.f_blocks > 0 and (few or status.f_bavail * status.f_frsize < FULL_BYTES)


def _list(rooms: Iterable[tuple[Path, os.statvfs_result]]) -> str:
    said = []
    for place, status in rooms:
        files = f" and room for {status.f_favail} files" if status.f_files > 0 and status.f_favail < FEW_FILES else ""
        said.append(f"{place} has {status.f_bavail * status.f_frsize:,} bytes free{files}")
    return ", ".join(said)


def _status(place: Path) -> os.statvfs_result | None:
    try:
        return os.statvfs(place)
    except OSError:
        return None
