"""Right answers as the sources have them, as text that the verifier of mathematics takes."""

import ast
import contextlib
import math
import re
from typing import Any

from pacs.rewards.extract import BOXED, last_boxed


def math_gold(value: Any) -> str:
    r"""The answer without the dollars or the box around it; "" if there is none.

    A whole number that is stored as a float loses its ".0"; several answers are one, with commas between them; of a
    text with boxes (a solution) it is the last one.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(math_gold, value)))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    if BOXED in text:
        text = last_boxed(text) or ""
    if len(text) > 1 and text[0] == text[-1] == "$" and "$" not in text[1:-1]:
        text = text[1:-1].strip()
    return text


def number_gold(value: Any) -> str:
    """As `math_gold`, and a whole number that is the text of a float ("27.0") loses its zeros too."""
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", math_gold(value))


def list_gold(value: Any) -> str:
    """As `math_gold`, and a list may be the text of one ("['$2$']")."""
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        with contextlib.suppress(ValueError, SyntaxError):  # an interval
            value = ast.literal_eval(value)
    return math_gold(value)


def text_gold(value: Any) -> str:
    """The text as it is, without the white space around it; "" if there is none."""
    return "" if value is None else str(value).strip()


def as_difficulty(value: Any) -> float | None:
    """The number in a level ("Level 5", 3, "2.5"), or None."""
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    found = re.search(r"((?<!\w)-)?\d+(\.\d+)?(e[+-]?\d+)?", str(value), re.I)
    return float(found.group()) if found else None
