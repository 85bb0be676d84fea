r"""Reads numerals and fractions: `0.5`, `0.\overline{36}`, `1\frac{1}{2}`, `1 1/2`, `\frac12`, `\frac{x}{y}`.

numeral  = digits ["\overline" digits] [fraction | space digits "/" digits]
fraction = "\frac" argument argument
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from pacs.rewards.answers.brackets import Cursor
from pacs.rewards.answers.expression import Node, Number, Quotient
from pacs.rewards.answers.refusals import Operation, Unreadable, check_digits
from pacs.rewards.answers.tokens import Token

#: Reads what a command takes, from the cursor's place on.
Argument = Callable[[], Node]


def numeral(cursor: Cursor, digits: str, argument: Argument) -> Node:
    """The number whose digits were taken last, with the bar or the fraction that belongs to it."""
    check_digits(len(digits))
    if "." in digits and cursor.accept("\\overline"):
        return _repeating(digits, cursor.in_braces())
    value = Number(Fraction(digits), "." in digits)
    if cursor.peek() == "\\frac" or _spaced_fraction(cursor):
        return _mixed(cursor, value, argument) or value
    return value


def fraction(cursor: Cursor, argument: Argument) -> Quotient:
    r"""What comes behind \frac."""
    start = cursor.place
    if digits := two_digits(cursor):  # \frac12
        return Quotient(*digits)
    above = argument()
    middle = cursor.place
    below = argument()
    if _differential(cursor.tokens[start:middle]) and _differential(cursor.tokens[middle : cursor.place], below=True):
        raise Operation("derivative")
    return Quotient(above, below)


def two_digits(cursor: Cursor) -> tuple[Node, Node] | None:
    r"""The digits of a numeral that is two arguments, as in \binom52; None if no numeral of several comes next."""
    digits = cursor.peek()
    if digits is None or not digits.isdigit() or len(digits) < 2:
        return None
    if len(digits) > 2:
        raise Unreadable("two arguments of one numeral")
    cursor.take()
    return Number(Fraction(digits[0])), Number(Fraction(digits[1]))


def _spaced_fraction(cursor: Cursor) -> bool:
    """Whether a fraction of two numerals comes after a space, as in 1 1/2."""
    ahead = cursor.tokens[cursor.place : cursor.place + 3]
    are_numbers = [token.kind for token in ahead] == ["number", "other", "number"]
    return are_numbers and ahead[0].space and ahead[1].text == "/"


def _mixed(cursor: Cursor, integer: Number, argument: Argument) -> Number | None:
    r"""A mixed number such as 1\frac{1}{2}; None if the fraction is not one of two numerals."""
    start = cursor.place
    if cursor.accept("\\frac"):
        part = fraction(cursor, argument)
    else:
        part = Quotient(*(Number(Fraction(cursor.tokens[start + k].text)) for k in (0, 2)))
        cursor.place += 3
    match part:
        case Quotient(Number(above, False), Number(below, False)) if not integer.decimal:
            if not 0 < above < below or integer.value.denominator != 1:
                raise Unreadable("a numeral before a fraction that is no part of a mixed number")
            return Number(integer.value + above / below)
    cursor.place = start
    return None


def _differential(tokens: Sequence[Token], *, below: bool = False) -> bool:
    r"""Whether these are the d or dy, or the dx, of \frac{dy}{dx}."""
    texts = [token.text for token in tokens if token.text not in ("{", "}")]
    if not texts or texts[0] != "d":
        return False
    after = texts[3:] if texts[1:2] == ["^"] else texts[1:]
    return (len(after) >= 1 and after[0].isalpha() and len(after[0]) == 1) if below else not after or after[0].isalpha()


def _repeating(digits: str, again: str) -> Number:
    r"""0.\overline{36} as a fraction."""
    if not (again.isascii() and again.isdigit()):
        raise Unreadable("a bar over what are no digits")
    places = len(digits.partition(".")[2])
    tail = Fraction(int(again), 10**places * (10 ** len(again) - 1))
    return Number(Fraction(digits) + tail, repeating=True)
