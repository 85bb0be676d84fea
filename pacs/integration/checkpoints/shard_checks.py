"""A checkpoint's large files, read against their checksums: by the ranks, each its own, in parallel.

A start reads small files alone (`pacs.checkpoints.marker`): all of a checkpoint may be a hundred gigabytes and more.
"""

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from pacs.checkpoints import marker
from pacs.checkpoints.folder import Checkpoint, newest_checkpoint
from pacs.checkpoints.integrity import SMALL_BYTES, damage_of, digest_of
from pacs.checkpoints.marker import BrokenCheckpoint

#: Files that a rank reads at once.
THREADS = 4


class CheckedFile(NamedTuple):
    """What a rank has read: the file's name, its digest, and what of it is not what was written, if anything."""

    name: str
    digest: str
    damage: str | None


def share_of(names: Sequence[str], rank: int, ranks: int) -> list[str]:
    """The files that `rank` of `ranks` reads: its own shards (of more old ranks, counted round), others in turn."""
    return [name for number, name in enumerate(names) if _owner(name, number) % ranks == rank]


def check_files(folder: Path, names: Sequence[str], *, written: bool) -> list[CheckedFile]:
    """Read files as a whole.

    Args:
        folder: of the checkpoint, or of a reference.
        names: of its files.
        written: they were just written: have them on the disk, and read them from there and not from memory, as far as
            the file system can be told to.
    """

    def check(name: str) -> CheckedFile:
        file = folder / name
        try:
            if written:
                _forget(file)
            return CheckedFile(name, digest_of(file), damage_of(file))
        except OSError as error:
            return CheckedFile(name, "", f"cannot be read ({error})")

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(check, names))


def seal_checked(folder: Path, workers: Any, *, step: int, reference: str | None = None) -> None:
    """Read what all ranks have just written, and seal it.

    Args:
        folder: what was written.
        workers: the worker group of the ranks.
        step: as for `marker.seal`.
        reference: as for `marker.seal`.

    Raises:
        BrokenCheckpoint: What is on the disk is not what was written.
    """
    small = [file for file in folder.rglob("*.pt") if file.stat().st_size <= SMALL_BYTES]
    found = [CheckedFile(str(file.relative_to(folder)), "", damage_of(file)) for file in sorted(small)]
    large = _by_ranks(folder, marker.large_files(folder), workers, written=True)
    if problems := [f"{file.name} {file.damage}" for file in (*found, *large) if file.damage]:
        raise BrokenCheckpoint(
            f"{folder}, just written, is not what was written: {'; '.join(problems)}: have the disk looked at"
        )
    digests = {file.name: file.digest for file in large}
    marker.seal(folder, step=step, ranks=workers.world_size, reference=reference, digests=digests)


def check_checkpoint(checkpoint: Checkpoint, workers: Any, own: Path) -> None:
    """Have the ranks read the large files of a checkpoint (and of its reference) before anything of it is loaded.

    Args:
        checkpoint: whose small files are in order.
        workers: the worker group of the ranks.
        own: the run's checkpoints. What is found there is noted, so that the next start passes over it.

    Raises:
        BrokenCheckpoint: One is damaged: file, record, and the mend.
    """
    found: dict[Path, list[str]] = {}
    for folder in filter(None, (checkpoint.folder, checkpoint.reference)):
        digests = marker.read_marker(folder)["sha256"]
        for file in _by_ranks(folder, marker.large_files(folder), workers, written=False):
            damage = file.damage
            if damage is None and digests.get(file.name, file.digest) != file.digest:
                damage = "is damaged: it is not what was written (its SHA-256 differs)"
            if damage is not None:
                found.setdefault(folder, []).append(f"{file.name} {damage}")
    if not found:
        return
    said = "; ".join(f"{folder}: {'; '.join(problems)}" for folder, problems in found.items())
    if checkpoint.folder.parent != own:
        raise BrokenCheckpoint(f"{said}: copy it again, or set trainer.resume_from_path to another checkpoint")
    for folder, problems in found.items():
        marker.note_damage(folder, problems)
    older, _ = newest_checkpoint(own)
    if older is None:
        raise BrokenCheckpoint(f"{said}: copy it again, or start the run anew in another run.dir")
    raise BrokenCheckpoint(f"{said}: the same command passes it over and goes on from step {older.step}")


def check_shards(part: Path, ranks: int) -> None:
    """Raise FileNotFoundError unless the shards of all ranks are here, where the trainer seals them."""
    kinds = ("model", "optim", "extra_state")
    files = [f"{kind}_world_size_{ranks}_rank_{rank}.pt" for kind in kinds for rank in range(ranks)]
    if missing := [file for file in files if not (part / file).exists()]:
        lacks = f"{part} lacks {len(missing)} of {len(files)} shards, {missing[0]} among them"
        raise FileNotFoundError(f"{lacks}: run.dir must be on a file system that all nodes share")


def _by_ranks(folder: Path, names: list[str], workers: Any, *, written: bool) -> list[CheckedFile]:
    if not names:
        return []
    return [file for files in workers.check_files(str(folder), names, written) for file in files]


def _owner(name: str, number: int) -> int:
    """The rank that wrote a shard, by its name; of another file its number."""
    shard = re.search(r"_rank_(\d+)\.pt$", name)
    return int(shard.group(1)) if shard else number


def _forget(file: Path) -> None:
    """Have a file on the disk and out of the system's memory."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
