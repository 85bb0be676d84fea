"""Right answers as the sources have them, as text that the verifier of mathematics takes."""

import ast
import contextlib
import math
import re
from typing import Any

from pacs.data.problem import Dropped
from pacs.rewards.extract import BOXED, last_boxed

#: What stands before the answer at the end of GSM8K's solutions.
MARK = "####"
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Za-z]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def math_gold(value: Any) -> str:
    r"""The answer without the dollars or the box around it; "" if there is none.

    A whole number that is stored as a float loses its ".0". Of a solution it is what the last box has, or what stands
    behind the last `####`, without the commas of thousands. A list, or the text of one (`['5']`), must have one answer.

    Raises:
        Dropped: If a list has several: whether one of them is asked for or all, it does not say.
    """
    if isinstance(value, str) and value.startswith(("['", '["')) and value.endswith("]"):
        # LaTeX whose backslashes the one who wrote the list has not doubled.
        written = value.replace("\\", "\\\\") if _SINGLE.search(value) else value
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(written)
    if isinstance(value, list | tuple):
        answers = set(filter(None, map(math_gold, value)))
        if len(answers) > 1:
            raise Dropped("several answers in a list")
        return answers.pop() if answers else ""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    if BOXED in text:
        text = last_boxed(text) or ""
    elif MARK in text:
        text = _THOUSANDS.sub("", text.rpartition(MARK)[2]).strip()
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
    """The text as it is, without the white space around it; "" if there is none."""
    return "" if value is None else str(value).strip()


def as_difficulty(value: Any) -> float | None:
    """The number in a level ("Level 5", 3, "2.5"), or None."""
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    found = re.search(r"((?<!\w)-)?\d+(\.\d+)?(e[+-]?\d+)?", str(value), re.I)
    return float(found.group()) if found else None


def unsolved(rate: Any) -> float | None:
    """The share that is not solved, of the one that is: the larger, the harder. None if it is not known."""
    return None if (solved := as_difficulty(rate)) is None else 1 - solved
