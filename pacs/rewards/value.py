r"""The value of an expression such as `\frac{3\sqrt{2}}{4}+x^2` at one point, to tell different ones apart.

What differs in value somewhere is not equal, and needs no computer algebra to be told so.

    sum     = ["+" | "-"] product {("+" | "-") product}
    product = power {["\cdot" | "\times" | "*" | "/"] power}      a missing sign multiplies
    power   = atom ["^" part]
    atom    = number | letter | "\pi" | "(" sum ")" | "{" sum "}" | "\frac" part part | "\sqrt" ["[" sum "]"] part
    part    = "{" sum "}" | digit | letter
"""

import math
import re
from typing import Final, NamedTuple

from pacs.rewards.bounds import beyond_bounds

MAX_EXPONENT: Final = 64
#: math-verify rounds decimals to 6 places; and a float holds about 15 digits, of which a sum or two lose some.
CLOSE: Final = 1e-5
CLOSE_RELATIVE: Final = 1e-9

_TOKEN = re.compile(r"\s*(\d+\.\d+|\.\d+|\d+|\\[a-zA-Z]+|[a-zA-Z]|[-+*/^(){}\[\]])", re.ASCII)
_TIMES = {"\\cdot", "\\times", "*"}
#: What may follow a factor without a sign between them. Not a fraction (1\frac{1}{2} is 3/2), nor a number.
_IMPLICIT = {"\\pi", "\\sqrt", "("}
#: math-verify reads these as numbers, or as a differential; and three letters in a row as a word.
_NO_VARIABLES = set("eid")
_WORD = re.compile(r"(?<!\\)\b[a-zA-Z]{3}")


class Value(NamedTuple):
    """The value of an expression where its variables are what `_at` says."""

    value: float
    variables: frozenset[str]


class _NoValue(Exception):
    """The text is something else, or has no real value there."""


def value_of(text: str) -> Value | None:
    """The value of an expression in single letters; None if the text is anything else.

    Args:
        text: an answer as `notation.canonical` leaves it, without signs for thousands.
    """
    if beyond_bounds(text) or _WORD.search(text):
        return None
    tokens, end = [], 0
    while match := _TOKEN.match(text, end):
        tokens.append(match[1])
        end = match.end()
    if end != len(text) or not tokens:
        return None
    try:
        parser = _Parser(tokens)
        value = parser.sum()
    except (_NoValue, ArithmeticError, ValueError):  # ValueError: int() of inf - inf
        return None
    if parser.next is not None or not math.isfinite(value):
        return None
    return Value(value, frozenset(parser.variables))


def differ(a: float, b: float) -> bool:
    """Whether two values are apart by more than rounding."""
    return abs(a - b) > max(CLOSE, CLOSE_RELATIVE * max(abs(a), abs(b)))


def _at(letter: str) -> float:
    """Between 1 and 2, at no special place; the same for both cases, as for math-verify."""
    return 1 + (ord(letter) * 0.6180339887498949) % 1


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place = tokens, 0
        self.variables: set[str] = set()

    @property
    def next(self) -> str | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def take(self) -> str:
        if self.next is None:
            raise _NoValue
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise _NoValue

    def sum(self) -> float:
        sign = self.take() if self.next in ("+", "-") else "+"
        value = self.product() * (-1 if sign == "-" else 1)
        while self.next in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> float:
        value = self.power()
        while self.next is not None:
            if self.next in _TIMES:
                self.take()
                value *= self.power()
            elif self.next == "/":
                self.take()
                value /= self.power()
            elif self.next in _IMPLICIT or self.next.isalpha():
                value *= self.power()
            else:
                break
        return value

    def power(self) -> float:
        base = self.atom()
        if self.next != "^":
            return base
        self.take()
        exponent = self.part()
        if abs(exponent) > MAX_EXPONENT or (base < 0 and exponent != int(exponent)):
            raise _NoValue
        return float(base**exponent)

    def atom(self) -> float:
        token = self.take()
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        if token == "\\pi":
            return math.pi
        if token.isalpha():
            return self.variable(token.lower())
        if token in ("(", "{"):
            value = self.sum()
            self.expect(")" if token == "(" else "}")
            return value
        if token == "\\frac":
            return self.fraction()
        if token == "\\sqrt":
            return self.root()
        raise _NoValue

    def variable(self, letter: str) -> float:
        if letter in _NO_VARIABLES or self.next == "(":  # f(x)
            raise _NoValue
        self.variables.add(letter)
        return _at(letter)

    def fraction(self) -> float:
        digits = self.next
        if digits is not None and digits.isdigit() and len(digits) == 2:  # \frac12
            self.take()
            return int(digits[0]) / int(digits[1])
        return self.part() / self.part()

    def root(self) -> float:
        degree = 2.0
        if self.next == "[":
            self.take()
            degree = self.sum()
            self.expect("]")
        value = self.part()
        if value < 0 or degree < 2 or degree != int(degree):
            raise _NoValue
        return float(value ** (1 / degree))

    def part(self) -> float:
        token = self.next
        if token == "{" or (token is not None and len(token) == 1 and token.isalnum()):
            return self.atom()
        raise _NoValue  # of more digits LaTeX takes one, math-verify sometimes all
