"""The shared-memory segments that one start of a run leaves, on this machine.

A segment does not say who has made it. A start's are those that were not there before it, whatever the clock said then
and says now.
"""

import json
import os
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
