"""SHA256SUMS of an exported folder, as `sha256sum` writes and checks it: safetensors have no checksums of their own."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pacs.base.files import file_sha256

FILE = "SHA256SUMS"


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS of all files in the folder.

    Raises:
        OSError: One cannot be read, or this one not be written.
    """
    names = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    sums = _digests(folder, names)
    (folder / FILE).write_text("".join(f"{sums[name]}  {name}\n" for name in names), encoding="utf-8")


def read_sums(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 in hex, by the folder's SHA256SUMS; empty if it has none. Lines of another form say nothing."""
    file = folder / FILE
    if not file.is_file():
        return {}
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [re.fullmatch(r"([0-9a-f]{64}) [ *](.+)", line) for line in lines]
    return {match.group(2): match.group(1) for match in found if match}


def damaged_files(folder: Path) -> list[str]:
    """The files of a folder that are not what its SHA256SUMS says, or are gone; all of it is read.

    Raises:
        OSError: One cannot be read.
    """
    sums = read_sums(folder)
    there = [name for name in sums if (folder / name).is_file()]
    digests = _digests(folder, there)
    return [name for name in sums if digests.get(name) != sums[name]]


def _digests(folder: Path, names: list[str]) -> dict[str, str]:
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as threads:
        return dict(zip(names, threads.map(lambda name: file_sha256(folder / name), names), strict=True))
