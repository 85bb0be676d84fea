r"""Numbers as they are written in answers: `72`, `-0.5`, `10,000`, `\frac{1}{2}`, `1/2`, `\$5`, `30^\circ`."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from pacs.rewards.bounds import MAX_CHARS

#: math-verify rounds decimals to 6 places, and holds about 15 digits of them: it decides on those that are closer or
#: longer than this, so that nothing here says other than it would.
CLOSE: Final = Fraction(1, 10**5)
DECIMAL_CHARS: Final = 15

_INTEGER: Final = r"\d+|[1-9]\d{0,2}(?:,\d{3})+"
_NUMBER = re.compile(rf"({_INTEGER})(\.\d+)?|(\.\d+)", re.ASCII)
_FRACTION = re.compile(r"\\frac ?(?:\{(-?\d+)\}|(\d)) ?(?:\{(\d+)\}|(\d))|(\d+) ?/ ?(\d+)", re.ASCII)


class Number(NamedTuple):
    """A number as it is written."""

    value: Fraction
    is_decimal: bool


def number(answer: str) -> Number | None:
    """The number that a canonical answer is; None if it is anything else, or too long.

    Integers, decimals and simple fractions, with a sign, a dollar or degrees.
    """
    if len(answer) > MAX_CHARS:
        return None
    text = answer.removeprefix("\\$").removesuffix("^\\circ").removesuffix("^{\\circ}").strip()
    if text.startswith("+") and "," in text:
        return None  # math-verify reads a list
    sign = -1 if text.startswith("-") else 1
    text = text[1:].lstrip() if text[:1] in ("-", "+") else text
    if match := _NUMBER.fullmatch(text):
        decimal = "." in text
        if decimal and len(text) > DECIMAL_CHARS:
            return None
        return Number(sign * Fraction(Decimal(text.replace(",", ""))), decimal)
    if match := _FRACTION.fullmatch(text):
        above = match[1] or match[2] or match[5]
        below = match[3] or match[4] or match[6]
        return Number(sign * Fraction(int(above), int(below)), False) if int(below) else None
    return None


def equal_numbers(a: Number, b: Number) -> bool | None:
    """Whether two numbers are equal; None where it depends on how math-verify rounds."""
    difference = abs(a.value - b.value)
    if difference == 0:
        return True
    return None if (a.is_decimal or b.is_decimal) and difference <= CLOSE else False
