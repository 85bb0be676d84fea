"""Files that are there as a whole or not at all."""

import errno
import hashlib
import json
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pacs.base.errors import UserError
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import visible


def check_not_of_a_run(out: Path) -> None:
    """Refuse a run's folder, and what is in one of those that the run itself writes, deletes and counts.

    Raises:
        UserError: It is one.
    """
    place = out.resolve()
    for folder in (place, *place.parents):
        if not RunFolder(folder).is_one:
            continue
        below = place.relative_to(folder).parts[:1]
        if not below or below[0] in RunFolder.FOLDERS:
            what = f"in {below[0]}/ of the folder" if below else "the folder"
            mend = f"give a folder of its own, as {folder.with_name(folder.name + '-out')}"
            raise UserError(f"--out {out} is {what} of a training run, which keeps its own files there: {mend}")


def nearest(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before there is something to write; nothing is made.

    Raises:
        UserError: It, or the nearest folder above it, is a file, or may not be written to; or it is a training run's.
    """
    check_not_of_a_run(folder)
    there = nearest(folder)
    if not there.is_dir():
        what = "" if there == folder else f" ({there} is a file)"
        raise UserError(f"--out {folder} is no folder{what}: give another")
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise UserError(f"--out {folder} cannot be written ({there}: {error.strerror}): give another") from error


def write_atomically(file: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write `content` (text as UTF-8) beside `file` and put it in its place: a reader sees the old content or the new.

    Args:
        file: to be written.
        content: of it.
        private: for its owner alone (mode 0600), from the first byte on; what was there before may have been another's.

    Raises:
        OSError: If it cannot be written; the old content stays, and nothing is left beside it.
    """
    # Two threads of a process, as the trainer's and its monitor's, may write the same file at once.
    aside = file.with_name(f".{file.name}.{threading.get_native_id()}.tmp")
    try:
        private_opener = partial(os.open, mode=0o600) if private else None
        with open(aside, "wb", opener=private_opener) as stream:
            # Half a surrogate pair, which JSON can name and UTF-8 cannot hold, is written as JSON names it.
            stream.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def write_json(file: Path, value: Any) -> None:
    """Write JSON for people and programs, as `write_atomically` does."""
    write_atomically(file, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(file: Path) -> dict[str, Any] | None:
    """A JSON object, or None: not there, not whole, or (on a shared file system) replaced while it was read."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE):
            return None
        raise
    return values if isinstance(values, dict) else None


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; files that vanish meanwhile count as none."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(root, name).lstat().st_size
    return total


def inside(folder: Path, *names: object) -> Path:
    """The path of `names`, one below the other, in `folder`.

    Each must be a plain name: text without a slash, a line break or another character that cannot be seen, and neither
    empty nor `.` nor `..`. What is there may be a link, unless it leads out of `folder` (which may be one itself).

    Raises:
        UserError: If a name is not plain, or leads out.
    """
    for name in names:
        plain = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\n\t")
        if not plain or visible(name) != name:
            raise UserError(f"{visible(repr(name))} is no plain name of something in {folder}")
    path = folder.joinpath(*map(str, names))
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{path} is a link that leads out of {folder}")
    return path


def told_apart(paths: Sequence[Path]) -> list[str]:
    """The name of each path, or of those of one name as much of their ends as tells them from the others.

    Raises:
        UserError: one is given twice.
    """
    resolved = [Path(path).resolve() for path in paths]
    for path, place in zip(paths, resolved, strict=True):
        if resolved.count(place) > 1:
            raise UserError(f"{path} is given twice: give each once")
    names = [place.name for place in resolved]
    for depth in range(2, max(len(place.parts) for place in resolved) + 1):
        ends = [str(Path(*place.parts[-depth:])) for place in resolved]
        names = [end if names.count(name) > 1 else name for name, end in zip(names, ends, strict=True)]
    return names


def status_of(file: Path) -> os.stat_result | None:
    """Of a file or a folder; None where there is none."""
    with suppress(FileNotFoundError):
        return file.stat()
    return None


T = TypeVar("T")


def read_lines(file: Path, make: Callable[[dict[str, Any]], T], mend: str, *, of_others: bool = False) -> Iterator[T]:
    """What the lines of a file stand for, without a last one that was not written to its end; none if there is no file.

    Args:
        file: a JSON object a line.
        make: of the object, what is wanted.
        mend: of a damaged line, what to do.
        of_others: a program of others wrote it, which may end its last line without a line break.

    Raises:
        UserError: If another line is no JSON object, or not one that `make` takes.
    """
    if not file.exists():
        return
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n") and not of_others:
                return
            try:
                made = make(json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise UserError(f"{file}: line {number} is damaged ({error}): {mend}") from error
            yield made


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's contents, in hex."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def to_line(value: Mapping[str, Any]) -> str:
    """One object as one line."""
    return json.dumps(value) + "\n"


class Appender:
    """Appends to a file, each line as a whole or not at all for whoever reads it with `read_lines`.

    Args:
        file: it is made if it is not there; a last line that was not written to its end is cut off.
    """

    def __init__(self, file: Path) -> None:
        self._stream = file.open("a+b")
        if self._stream.tell() > 0:
            with mmap.mmap(self._stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                end = content.rfind(b"\n") + 1
            self._stream.truncate(end)

    def write(self, value: Mapping[str, Any]) -> None:
        """Append one object and hand it to the operating system: it outlives this process."""
        self._stream.write(to_line(value).encode())
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def continued(file: Path, about: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Appender]:
    """The lines behind a first one that says what they are of, and what appends to them; none of something else.

    Args:
        file: to go on with, or new.
        about: what its lines are of; those of something else are thrown away.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = list(read_lines(file, dict, "remove it"))
    if lines and lines[0] == about:
        return lines[1:], Appender(file)
    file.unlink(missing_ok=True)
    writer = Appender(file)
    writer.write(about)
    return [], writer
