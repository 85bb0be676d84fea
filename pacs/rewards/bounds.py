r"""What is too long, too deep or too large to be compared: found by reading, without computing anything.

No answer of a problem needs these, and math-verify would take minutes or gigabytes over them, in which no other answer
is graded. What passes here and is hard all the same is stopped by `isolation`.
"""

import math
import re
from typing import Final

MAX_CHARS: Final = 1000
MAX_DEPTH: Final = 10
#: Largest exponent, and largest number a factorial is taken of.
MAX_EXPONENT: Final = 10_000
MAX_FACTORIAL: Final = 1_000
MAX_DIGITS: Final = 100

_OPEN, _CLOSE = "([{", ")]}"
_NUMBER = r"[{(\s]*[+-]?(\d+)[\s})]*"
_EXPONENT = re.compile(rf"(?:\^|\*\*){_NUMBER}", re.ASCII)
#: Of two or more exponents over each other, in whichever way they are written.
_TOWER = re.compile(rf"(\d+)[\s}})]*(?:\^|\*\*){_NUMBER}(?:\^|\*\*){_NUMBER}", re.ASCII)
_HIGH_TOWER = re.compile(r"(?:(?:\^|\*\*)[{(\s]*[+-]?(?:\d+|\\[a-zA-Z]+|[a-zA-Z])[\s})]*){3}", re.ASCII)
_FACTORIAL = re.compile(r"(\d+)[\s})]*!", re.ASCII)
_FACTORIAL_OF_FACTORIAL = re.compile(r"![\s})]*!")
_LONG_NUMBER = re.compile(rf"\d{{{MAX_DIGITS + 1}}}", re.ASCII)


def beyond_bounds(answer: str) -> str | None:
    """What is too much about an answer, in words for the user; None if it may be compared.

    Args:
        answer: an answer without its box.
    """
    if len(answer) > MAX_CHARS:
        return f"longer than {MAX_CHARS:,} characters"
    if _depth(answer) > MAX_DEPTH:
        return f"brackets nested deeper than {MAX_DEPTH}"
    if _HIGH_TOWER.search(answer):
        return "a power of a power of a power"
    if any(_too_large(number, MAX_EXPONENT) for number in _EXPONENT.findall(answer)):
        return f"an exponent above {MAX_EXPONENT:,}"
    if any(_too_high(*tower) for tower in _TOWER.findall(answer)):
        return f"an exponent above {MAX_EXPONENT:,}"
    if _FACTORIAL_OF_FACTORIAL.search(answer):
        return "a factorial of a factorial"
    if any(_too_large(number, MAX_FACTORIAL) for number in _FACTORIAL.findall(answer)):
        return f"a factorial above {MAX_FACTORIAL:,}!"
    if _LONG_NUMBER.search(answer):
        return f"a number of more than {MAX_DIGITS} digits"
    return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSE:
            depth -= 1
    return deepest


def _too_large(digits: str, largest: int) -> bool:
    return len(digits) > 20 or int(digits) > largest


def _too_high(base: str, exponent: str, of_exponent: str) -> bool:
    """Whether exponent ** of_exponent is too large an exponent."""
    if len(exponent) > 20 or len(of_exponent) > 20:
        return True
    return int(base) > 1 and int(of_exponent) * math.log(max(int(exponent), 1)) > math.log(MAX_EXPONENT)
