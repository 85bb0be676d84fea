"""What is refused: what is not known here, and what is too long, too deep or too large to be read and compared."""

import re
from typing import Final, NoReturn


class Unreadable(ValueError):
    """The text is not an answer or an expression that is known here."""


class Operation(ValueError):
    """The text holds an operation that is not calculated here; the message is its name."""


def refuse(why: str) -> NoReturn:
    """Raise `Unreadable`, where an expression is wanted."""
    raise Unreadable(why)


MAX_CHARS: Final = 1000
MAX_DEPTH: Final = 12
#: Members of a set, a tuple or a list; and entries of a matrix.
MAX_ITEMS: Final = 64
#: Digits of a number, written out or as the value of a power, a factorial or a binomial coefficient.
MAX_DIGITS: Final = 5_000

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


class TooMuch(ValueError):
    """An answer is beyond a bound; the message says which, in words for the user."""


def check_size(text: str) -> None:
    """Raise `TooMuch` for a text that is too long, or whose brackets are nested too deeply."""
    if len(text) > MAX_CHARS:
        raise TooMuch(f"longer than {MAX_CHARS:,} characters")
    depth = 0
    for character in text:
        if character in _OPEN:
            depth += 1
            if depth > MAX_DEPTH:
                raise TooMuch(f"brackets nested deeper than {MAX_DEPTH}")
        elif character in _CLOSE:
            depth -= 1


def check_digits(digits: float) -> None:
    """Raise `TooMuch` for a number of more than `MAX_DIGITS` digits."""
    if digits > MAX_DIGITS:
        raise TooMuch(f"a number of more than {MAX_DIGITS:,} digits")


#: What is given to sympy is no longer than this, and without factorials, long numbers and high powers.
_OPERATION_CHARS: Final = 200
_LONG = re.compile(r"\d{12}|!|(?:\^|\*\*)\s*(?:\{?\s*(?:\(|\d{4})|\{[^{}]*\^)", re.ASCII)


def check_operation(text: str) -> None:
    """Raise `TooMuch` for what sympy would compute for minutes: long texts, factorials, high powers, long numbers."""
    if len(text) > _OPERATION_CHARS:
        raise TooMuch(f"an operation of more than {_OPERATION_CHARS} characters")
    if _LONG.search(text):
        raise TooMuch("an operation with a long number, a factorial or a high power")
