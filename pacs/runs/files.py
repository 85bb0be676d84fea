"""Files that are there as a whole or not at all."""

import errno
import json
import os
from pathlib import Path
from typing import Any


def write_atomically(file: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write `content` (text as UTF-8) beside `file` and put it in its place: a reader sees the old content or the new.

    Args:
        file: to be written.
        content: of it.
        private: for its owner alone (mode 0600), from the first byte on; what was there before may have been another's.

    Raises:
        OSError: If it cannot be written; the old content stays, and nothing is left beside it.
    """
    aside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with open(aside, "wb", opener=_open_private if private else None) as stream:
            # Half a surrogate pair, which JSON can name and UTF-8 cannot hold, is written as JSON names it.
            stream.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _open_private(file: str, flags: int) -> int:
    return os.open(file, flags, 0o600)


def read_json(file: Path) -> dict[str, Any] | None:
    """A JSON object, or None: not there, not whole, or (on a shared file system) replaced while it was read."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESTALE):
            return None
        raise
    return values if isinstance(values, dict) else None


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; files that vanish meanwhile count as none."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(root, name).lstat().st_size
            except FileNotFoundError:
                continue
    return total
