"""One process at a time in a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pacs.base.errors import UserError

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


@contextmanager
def held(folder: Path, named: str, what: str, mend: str = "give another folder") -> Iterator[TextIO]:
    """Hold a folder's lock, as of `locked`.

    Args:
        folder: made if it is not there.
        named: what its user calls it, as `--out DIR`.
        what: runs there, where another process holds the lock, as "a sweep".
        mend: what to do where this folder will not do.

    Raises:
        UserError: another process holds the lock, there are no locks, or the folder cannot be made.
    """
    try:
        lock = locked(folder)
    except Taken as error:
        by = f" ({error})" if str(error) else ""
        raise UserError(f"{named}: {what} is running in this folder{by}: stop it, or {mend}") from None
    except NoLocks as error:
        raise UserError(f"{named}: its file system has no locks ({error}): {mend}") from error
    except OSError as error:
        raise UserError(f"{named} cannot be written ({error.strerror}): {mend}") from error
    with lock:
        yield lock


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
