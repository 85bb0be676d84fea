"""The rows of local JSON and CSV, every number and date as the text that stands in the file.

`datasets` gives a column one type, and so another text to answers of several kinds. UTF-8, UTF-16 and UTF-32 are told
apart by how the file begins.
"""

import csv
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.data.golds import Numeral
from pacs.data.problem import Row


def json_rows(file: Path) -> Iterator[Row]:
    """The objects of a file: one a line, read as they are asked for, or all in one list.

    Raises:
        UserError: If it cannot be read; it names the line or the row.
    """
    place = "the list"
    try:
        with file.open(encoding=_encoding(file)) as stream:
            if _first_character(file) == "[":
                for number, value in enumerate(_loads(stream.read()), start=1):
                    place = f"row {number}"
                    yield _checked(value)
                return
            for number, line in enumerate(stream, start=1):
                place = f"line {number}"
                if line.strip():
                    yield _checked(_loads(line))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read: {place}: {_why(error, file)}") from error


def csv_rows(file: Path) -> Iterator[Row]:
    """The rows of a file whose first line names the columns; an empty field is an empty text.

    Raises:
        UserError: If it cannot be read; it names the line.
    """
    csv.field_size_limit(sys.maxsize)
    line = 1
    try:
        with file.open(encoding=_encoding(file), newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            _check_once([name for name in reader.fieldnames or () if name])  # spreadsheets write columns without any
            for row in reader:
                line = reader.line_num
                if None in row:
                    raise ValueError("it has more fields than the first line")
                yield row
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{file} cannot be read: line {line}: {_why(error, file)}") from error


def _why(error: Exception, file: Path) -> str:
    if isinstance(error, UnicodeDecodeError):
        if error.encoding != "utf-8":
            return f"its beginning is that of {error.encoding}, and it goes on otherwise: save it as UTF-8"
        command = f"iconv -f LATIN1 -t UTF-8 {shlex.quote(str(file))} > utf8{file.suffix}"
        byte = f"byte {error.object[error.start]:#x}"
        return f"it is not UTF-8 ({byte}): save it as UTF-8; if it is Latin 1, `{command}` does, else name its encoding"
    return str(error)


def _encoding(file: Path) -> str:
    with file.open("rb") as stream:
        found = json.detect_encoding(stream.read(4))  # by the mark of the encoding, or by the zeros of ASCII characters
    return "utf-8-sig" if found == "utf-8" else found


def _first_character(file: Path) -> str:
    with file.open(encoding=_encoding(file)) as stream:
        return next((line.lstrip()[0] for line in stream if line.strip()), "")


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Numeral, parse_int=Numeral, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        _check_once([name for name, _ in pairs])
    return found


def _check_once(names: Sequence[str]) -> None:
    """Raise ValueError where a name comes twice: one of its values would be lost, nobody knows which."""
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise ValueError(f"it has {twice[0]} twice: rename or remove one")


def _checked(value: Any) -> Row:
    if isinstance(value, list):
        value = {str(place): member for place, member in enumerate(value)}  # as `datasets` names them
    if not isinstance(value, dict):
        raise ValueError("it is no object with columns")
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    return value
