"""One process at a time in a folder."""

import fcntl
import os
from pathlib import Path
from typing import TextIO

LOCK = ".lock"


class Taken(Exception):
    """Another process holds the folder's lock; the message is what it wrote into the file."""


class NoLocks(Exception):
    """The folder's file system has no locks; the message says what it answers."""


def locked(folder: Path) -> TextIO:
    """Make a folder and take its lock, which goes with this process.

    Returns:
        The lock's file, as a context that holds the lock; what is written into it (appended) is for `Taken`.

    Raises:
        Taken: If another process holds it.
        NoLocks: If the file system has none.
        OSError: If the folder or the file cannot be made, or the file is a link: it would be written elsewhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.fdopen(os.open(folder / LOCK, flags, 0o666), "a+", encoding="utf-8", errors="replace")
    _take(file, fcntl.LOCK_EX)
    return file


def check_free(folder: Path) -> None:
    """Whether a folder's lock could be taken; write nothing.

    Raises:
        Taken, NoLocks: as `locked`.
        OSError: If the lock's file cannot be read.
    """
    if (folder / LOCK).exists():
        with (folder / LOCK).open(encoding="utf-8", errors="replace") as file:
            _take(file, fcntl.LOCK_SH)


def _take(file: TextIO, kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError as error:
        with file:
            if not isinstance(error, BlockingIOError):
                raise NoLocks(str(error)) from error
            file.seek(0)
            raise Taken(file.read().strip()) from error
