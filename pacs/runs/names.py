"""Names that a file gives and that become paths: a stranger's file must not lead out of its folder."""

import os
from pathlib import Path
from typing import TextIO

from pacs.terminal import visible


class UnsafeName(ValueError):
    """A name that is no plain one, or that leads out of its folder; the message says which."""


def inside(folder: Path, *names: object) -> Path:
    """The path of `names`, one below the other, in `folder`.

    Each must be a plain name: text without a slash, a line break or another character that cannot be seen, and neither
    empty nor `.` nor `..`. What is there may be a link, unless it leads out of `folder` (which may be one itself).

    Raises:
        UnsafeName: If a name is not plain, or leads out.
    """
    for name in names:
        plain = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\n\t")
        if not plain or visible(name) != name:
            raise UnsafeName(f"{visible(repr(name))} is no plain name of something in {folder}")
    path = folder.joinpath(*map(str, names))
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UnsafeName(f"{path} is a link that leads out of {folder}")
    return path


def open_lock(file: Path) -> TextIO:
    """Open a file that is locked and holds a word on who holds it; made if it is not there.

    Raises:
        OSError: If it cannot be, or is a link: what is written to it would be written elsewhere.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    return os.fdopen(descriptor, "a+", encoding="utf-8")
