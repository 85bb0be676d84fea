"""Whether a file still holds what was written: checksums, and the CRCs that torch writes and does not read.

torch saves a zip archive, and stores a CRC of each record (each tensor's bytes, and the pickle that names them) that
`torch.load` does not look at. A file's digest is the SHA-256 of its contents or, of a large archive, of the list of its
records at its end: names, sizes and CRCs, so that reading a megabyte tells another file from the right one. That the
records are those of the list takes reading all of it: `damage_of`.
"""

import hashlib
import zipfile
import zlib
from pathlib import Path

from pacs.base.files import file_sha256

#: Files up to this size are read as a whole by every start, before Ray is; larger ones by the ranks, each its own.
SMALL_BYTES = 16 * 2**20
#: What the digest of a large archive begins with.
RECORDS = "records "
_BAD_ARCHIVE = (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, EOFError)


def digest_of(file: Path) -> str:
    """SHA-256 of a file in hex; of a large archive `records ` and that of its list of records.

    Raises:
        OSError: It cannot be read.
    """
    records = _records_digest(file) if file.stat().st_size > SMALL_BYTES else None
    return file_sha256(file) if records is None else records


def is_quickly_checked(size: int, digest: str) -> bool:
    """Whether a file of `size` bytes with such a digest is held against it without reading much."""
    return size <= SMALL_BYTES or digest.startswith(RECORDS)


def differs(file: Path, digest: str) -> bool:
    """Whether a file has another digest than was recorded of it; an archive that is none any more has.

    Raises:
        OSError: It cannot be read.
    """
    return (_records_digest(file) if digest.startswith(RECORDS) else file_sha256(file)) != digest


def damage_of(file: Path) -> str | None:
    """Read a file of torch's as a whole; what of it is not what was written, in words, or None.

    Args:
        file: torch's, `*.pt`; another file has no checksums of its own, and is None.

    Raises:
        OSError: It cannot be read.
    """
    if file.suffix != ".pt":
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            record = archive.testzip()
    except _BAD_ARCHIVE as error:
        return f"is damaged: it is no archive that torch has written ({error})"
    return None if record is None else f"is damaged: its record {record} is not what was written (its CRC differs)"


def _records_digest(file: Path) -> str | None:
    """Of an archive's list of records, which reaches to its end; None of another file."""
    try:
        with zipfile.ZipFile(file) as archive:
            start = archive.start_dir
    except _BAD_ARCHIVE:
        return None
    with file.open("rb") as stream:
        stream.seek(start)
        return RECORDS + hashlib.file_digest(stream, "sha256").hexdigest()
