"""JSON lines that are appended one by one, by a process that may be killed at any of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pacs.evaluation.errors import EvaluationError

T = TypeVar("T")


def read_lines(file: Path, make: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    """What the lines of a file stand for, without a last one that was not written to its end; none if there is no file.

    Args:
        file: a JSON object a line.
        make: of the object, what is wanted.

    Raises:
        EvaluationError: If another line is no JSON object, or not one that `make` takes.
    """
    if not file.exists():
        return
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                made = make(json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise EvaluationError(
                    f"{file}: line {number} is damaged: remove that line, and the same `pacs evaluate` makes up for it"
                ) from error
            yield made


def to_line(value: Mapping[str, Any]) -> str:
    """One object as one line."""
    return json.dumps(value) + "\n"


class Appender:
    """Appends to a file, each line as a whole or not at all for whoever reads it with `read_lines`.

    Args:
        file: it is made if it is not there; a last line that was not written to its end is cut off.
    """

    def __init__(self, file: Path) -> None:
        self._stream = file.open("ab")
        end = _end_of_last_line(file)
        if end < self._stream.tell():
            self._stream.truncate(end)

    def write(self, value: Mapping[str, Any]) -> None:
        """Append one object and hand it to the operating system: it outlives this process."""
        self._stream.write(to_line(value).encode())
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _end_of_last_line(file: Path) -> int:
    """Bytes up to and with the last line break."""
    with file.open("rb") as stream:
        position = stream.seek(0, 2)
        while position > 0:
            start = max(0, position - 65536)
            stream.seek(start)
            found = stream.read(position - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            position = start
    return 0
