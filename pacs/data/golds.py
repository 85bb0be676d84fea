"""Right answers as the sources have them, as text that their verifier takes."""

import ast
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from pacs.data.problem import Dropped
from pacs.rewards.extract import BOXED, last_boxed

#: What stands before the answer at the end of GSM8K's solutions.
MARK = "####"
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Za-z]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
#: Of a row whose answer holds other values by their names.
OBJECT: Final = "the answer is an object: name a place in it, as --answer-column answer.value"


class Numeral(str):
    """A number in a file of JSON, as it is written there."""


def math_gold(value: Any) -> str:
    r"""The answer without the dollars or the box around it; "" if there is none.

    A whole number that is stored as a float loses its ".0". Of a solution it is what the last box has, or what stands
    behind the last `####`, without the commas of thousands. A list, or the text of one (`['5']`), must have one answer.

    Raises:
        Dropped: If it is an object, or a list has several: whether one of them is asked for or all, it does not say.
    """
    if isinstance(value, str) and value.startswith(("['", '["')) and value.endswith("]"):
        # LaTeX whose backslashes the one who wrote the list has not doubled.
        written = value.replace("\\", "\\\\") if _SINGLE.search(value) else value
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(written)
    if isinstance(value, list | tuple):
        return _only(map(math_gold, value))
    text = _written(value)
    if BOXED in text:
        text = last_boxed(text) or ""
    elif MARK in text:
        text = text.rpartition(MARK)[2].strip()
        text = text if set("([{") & set(text) else _THOUSANDS.sub("", text)  # (1,234) is a point
    if len(text) > 1 and text[0] == text[-1] == "$" and "$" not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def boxed_gold(value: Any) -> str:
    """As `math_gold` of a solution; "" if it has no box."""
    return math_gold(value) if BOXED in str(value) else ""


def number_gold(value: Any) -> str:
    """As `math_gold`, and a whole number that is the text of a float ("27.0") loses its zeros too."""
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", math_gold(value))


def list_gold(value: Any) -> str:
    """As `math_gold`, and all answers of a list, or of the text of one, are one, with commas between them."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        with contextlib.suppress(ValueError, SyntaxError):  # an interval
            value = ast.literal_eval(value)
    return ", ".join(filter(None, map(math_gold, value))) if isinstance(value, list) else math_gold(value)


def text_gold(value: Any) -> str:
    """The text as it is, without the white space around it; of numbers and lists as `math_gold`."""
    return _only(map(text_gold, value)) if isinstance(value, list | tuple) else _written(value)


def json_gold(value: Any) -> str:
    """As `text_gold`, and an object is its JSON."""
    return _json(value) if isinstance(value, dict) else text_gold(value)


#: By verifier; of another one `text_gold`.
GOLDS: Final[dict[str, Callable[[Any], str]]] = {"math": math_gold, "code": json_gold, "countdown": json_gold}


def _only(golds: Iterable[str]) -> str:
    """The one answer in a list, "" if there is none. Raises Dropped if there are several."""
    answers = set(filter(None, golds))
    if len(answers) > 1:
        raise Dropped("several answers in a list")
    return answers.pop() if answers else ""


def _written(value: Any) -> str:
    """A value as text, a whole number that is stored as a float without its ".0"; "" of what says that there is none.

    Raises:
        Dropped: If it is an object, or bytes that are no text.
    """
    if isinstance(value, dict):
        raise Dropped(OBJECT)
    if isinstance(value, bytes):
        raise Dropped("the answer is bytes that are not UTF-8")
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _json(value: Any) -> str:
    """A value as JSON, numbers of a file as they are written there."""
    match value:
        case Numeral():
            return value
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)}: {_json(part)}" for name, part in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def as_difficulty(value: Any) -> float | None:
    """The number in a level ("Level 5", 3, "2.5"), or None."""
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    found = re.search(r"((?<!\w)-)?\d+(\.\d+)?(e[+-]?\d+)?", str(value), re.I)
    return float(found.group()) if found else None


def unsolved(rate: Any) -> float | None:
    """The share that is not solved, of the one that is: the larger, the harder. None if it is not known."""
    return None if (solved := as_difficulty(rate)) is None else 1 - solved
