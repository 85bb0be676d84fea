"""Two teachers of arithmetic, one who never slips and a careless one: what the warm start learns from.

A solution works a problem column by column, the ones first and seven characters each, and reads the answer off. The
first digit of a column's result is the carry into the next one, or the borrow from it:

    47+68    7+8=15 4+6=11 \\boxed{115}
    52-38    2-8=14 5-3=01 \\boxed{14}
    47*8     7*8=56 4*8=37 \\boxed{376}
    47*38    7*8=56 4*8=37 7*3=21 4*3=14 7+1=08 3+4=07 0+1=01 \\boxed{1786}      376 and 141, and the sum of the two
"""

import random
import re

from recipes.starts.task import Problem

# How often the careless teacher makes each mistake, by column; column 0 is that of the ones.
FORGET = (0.0, 0.6, 0.75, 0.85, 0.9, 0.95)  # the carry into it, in a sum
FORGET_IN_PRODUCT = (0.0, 0.85)
NO_BORROW = (0.5, 0.65, 0.75, 0.8, 0.85, 0.9)  # the smaller digit is taken from the larger one: 2-8=06
MISCOUNT = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12)  # by one
NEIGHBOUR = 0.08  # in the multiplication table: 7*8=49
NO_BOX = 0.01  # for each column of the solution


class Teacher:
    """Works problems; `rng` decides where a careless teacher slips, one without it never does."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng
        self._written: list[str] = []

    def solution(self, problem: Problem) -> str:
        """A response to the problem."""
        left, operator, right = re.split(r"([-+*])", problem.text)
        if operator == "+":
            answer = self._sum(_digits(left), _digits(right))
        elif operator == "-":
            answer = self._difference(_digits(left), _digits(right))
        else:
            answer = self._product(_digits(left), _digits(right))
        columns = " ".join(self._written)
        boxed = not self._slips(NO_BOX * len(self._written))
        self._written = []
        return f"{columns} \\boxed{{{answer}}}" if boxed else f"{columns} {answer}"

    def _sum(self, left: list[int], right: list[int]) -> int:
        digits, carry = [], 0
        for column, (a, b) in enumerate(zip(left, right, strict=True)):
            if carry and self._slips(FORGET[column]):
                carry = 0
            result = self._by_counting(a + b + carry, 19, column)
            self._write(a, "+", b, result)
            carry, digit = divmod(result, 10)
            digits.append(digit)
        return _number([*digits, carry])

    def _difference(self, left: list[int], right: list[int]) -> int:
        digits, borrow = [], 0
        for column, (a, b) in enumerate(zip(left, right, strict=True)):
            result = a - b - borrow
            borrow = int(result < 0)
            if borrow and self._slips(NO_BORROW[column]):
                result, borrow = -result, 0
            digits.append(self._by_counting(result % 10, 9, column))
            self._write(a, "-", b, 10 * borrow + digits[-1])
        return _number(digits)

    def _product(self, left: list[int], right: list[int]) -> int:
        rows = [self._row(left, digit) for digit in right]
        if len(rows) == 1:
            return _number(rows[0])
        first, second = rows  # of three digits each
        return 10 * self._sum([*first[1:], 0], second) + first[0]

    def _row(self, left: list[int], right: int) -> list[int]:
        """The digits of one digit times a number."""
        digits, carry = [], 0
        for column, a in enumerate(left):
            if carry and self._slips(FORGET_IN_PRODUCT[column]):
                carry = 0
            factor = right - 1 if self._slips(NEIGHBOUR) else right
            result = a * factor + carry
            self._write(a, "*", right, result)
            carry, digit = divmod(result, 10)
            digits.append(digit)
        return [*digits, carry]

    def _by_counting(self, value: int, most: int, column: int) -> int:
        """A value from 0 to `most`, or one beside it."""
        if self._rng is None or not self._slips(MISCOUNT[column]):
            return value
        return self._rng.choice([near for near in (value - 1, value + 1) if 0 <= near <= most])

    def _slips(self, probability: float) -> bool:
        return self._rng is not None and self._rng.random() < probability

    def _write(self, a: int, operator: str, b: int, result: int) -> None:
        self._written.append(f"{a}{operator}{b}={result:02d}")


def right_solution(problem: Problem, rng: random.Random) -> str:
    """A solution without a mistake; nothing is drawn from `rng`."""
    return Teacher().solution(problem)


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by the careless teacher."""
    return Teacher(rng).solution(problem)


def _digits(number: str) -> list[int]:
    """The ones first."""
    return [int(digit) for digit in reversed(number)]


def _number(digits: list[int]) -> int:
    """The inverse of `_digits`."""
    return sum(digit * 10**column for column, digit in enumerate(digits))
