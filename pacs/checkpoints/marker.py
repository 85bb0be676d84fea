"""The marker of a checkpoint (or of a reference): complete.json, which is written last and says what was written.

It lists every file with its size and its digest (see `integrity`). What only the training ranks find, since they read
the large files, is noted in damaged.txt beside it; what has one does not count as complete.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import inside, write_atomically
from pacs.checkpoints.integrity import SMALL_BYTES, damage_of, differs, digest_of, is_quickly_checked

MARKER = "complete.json"
DAMAGED = "damaged.txt"


class BrokenCheckpoint(UserError):
    """A checkpoint lacks something; the message says what, and where."""


def seal(
    folder: Path, *, step: int, ranks: int, reference: str | None = None, digests: Mapping[str, str] | None = None
) -> None:
    """Write the marker of a checkpoint (or of a reference) that is otherwise complete.

    Args:
        folder: what was written.
        step: the step it was written after.
        ranks: number of training ranks.
        reference: name of the reference's folder under `references/`, if the checkpoint needs one.
        digests: of the large files, from whoever has read them; the others are read here.
    """
    digests = dict(digests or {})
    (folder / DAMAGED).unlink(missing_ok=True)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file != folder / MARKER]
    sizes = {}
    for file in files:
        # On the disk before the marker is: else a power cut could leave a marker whose files are zeros.
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
        name = str(file.relative_to(folder))
        sizes[name] = file.stat().st_size
        if name not in digests:
            digests[name] = digest_of(file)
    about = {
        "step": step,
        "ranks": ranks,
        "reference": reference,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": sizes,
        "sha256": digests,
    }
    write_atomically(folder / MARKER, json.dumps(about | {"sha256_of_this": _own_digest(about)}, indent=1) + "\n")


def large_files(folder: Path) -> list[str]:
    """The names of a checkpoint's (or a reference's) large files, which its ranks check."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size > SMALL_BYTES)
    return [str(file.relative_to(folder)) for file in files]


def note_damage(folder: Path, problems: Sequence[str]) -> None:
    """Note what was found in a checkpoint (or a reference): from now on it does not count as complete."""
    write_atomically(folder / DAMAGED, "".join(f"{problem}\n" for problem in problems))


def read_marker(folder: Path) -> dict[str, Any]:
    """What a marker says: step, ranks, reference, files (name -> bytes), sha256 (name -> digest).

    Raises:
        BrokenCheckpoint: If there is none, or it is not what `seal` writes.
    """
    marker = folder / MARKER
    try:
        about = json.loads(marker.read_text(encoding="utf-8"))
        if about.pop("sha256_of_this") != _own_digest(about):
            raise ValueError("it is not what was written")
        step, ranks, reference = about["step"], about["ranks"], about["reference"]
        sizes, digests = dict(about["files"]), dict(about["sha256"])
    except (FileNotFoundError, NotADirectoryError):
        raise BrokenCheckpoint(f"{folder}: no {MARKER}; its save did not end, or it was not written by pacs") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenCheckpoint(f"{marker}: not readable ({error!r})") from error
    if not all(type(number) is int for number in (step, ranks, *sizes.values())) or sizes.keys() != digests.keys():
        raise BrokenCheckpoint(f"{marker}: not readable (it is not what pacs writes)")
    for name in sizes:
        named(folder, folder, *name.split("/"))
    return {"step": step, "ranks": ranks, "reference": reference, "files": sizes, "sha256": digests}


def verified(folder: Path, content: bool) -> dict[str, Any]:
    """What a marker says, once the files it lists are there, and are what was written.

    Args:
        folder: with the marker.
        content: read the small files and the large ones' lists of records; else look at the sizes alone.

    Raises:
        BrokenCheckpoint: If it is not so.
    """
    about = read_marker(folder)
    try:
        for name, size in about["files"].items():
            found = _size(folder / name)
            if found != size:
                what = "is missing" if found is None else f"has {found:,} bytes instead of {size:,}"
                raise BrokenCheckpoint(f"{folder}: {name} {what}")
        if (folder / DAMAGED).exists():
            noted = " ".join((folder / DAMAGED).read_text(encoding="utf-8", errors="replace").split())
            raise BrokenCheckpoint(f"{folder}: {noted} (once that is mended, remove {DAMAGED})")
        for name, size in about["files"].items() if content else ():
            if damage := _damage(folder / name, size, about["sha256"][name]):
                raise BrokenCheckpoint(f"{folder}: {name} {damage}")
    except OSError as error:
        raise BrokenCheckpoint(f"{folder}: not readable ({error})") from error
    return about


def named(checkpoint: Path, folder: Path, *names: object) -> Path:
    """What a checkpoint's marker names in a folder.

    Raises:
        BrokenCheckpoint: If that leads elsewhere.
    """
    try:
        return inside(folder, *names)
    except UserError as error:
        raise BrokenCheckpoint(f"{checkpoint}: its {MARKER} was not written by pacs: {error}") from None


def _own_digest(about: Mapping[str, Any]) -> str:
    """Of all that a marker says."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _damage(file: Path, size: int, digest: str) -> str | None:
    """What of a file is not what was written, as far as a start sees it; the ranks read the rest of the large ones."""
    if is_quickly_checked(size, digest) and differs(file, digest):
        return damage_of(file) or "is damaged: it is not what was written (its SHA-256 differs)"
    return None


def _size(file: Path) -> int | None:
    """Bytes of a file; None if there is none (the run itself may delete it meanwhile)."""
    try:
        return file.stat().st_size if file.is_file() else None
    except FileNotFoundError:
        return None
