"""The value of an expression at a point, in floating point or in as many digits as are asked for."""

import math
import threading
from collections.abc import Mapping
from typing import Any, Final

import mpmath

from pacs.rewards.answers import expression as tree
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.refusals import MAX_DIGITS, TooMuch

#: The largest whole exponent of a complex number.
_MOST_TURNS: Final = 10**100
_of_thread = threading.local()  # a context holds its precision


class Field:
    """Numbers of so many digits, or floating point (None): evaluates expressions in them.

    Attributes:
        largest: the largest term of any sum so far.
    """

    def __init__(self, digits: int | None) -> None:
        if digits is None:
            self.numbers = mpmath.fp
        else:
            if not hasattr(_of_thread, "numbers"):
                _of_thread.numbers = mpmath.MPContext()
            self.numbers = _of_thread.numbers
            self.numbers.dps = digits
        self.largest: Any = 0.0

    def value(self, node: tree.Node, point: Mapping[str, float]) -> Any:
        """The value at a point. Raises NoValue, TooMuch, and in floating point ZeroDivisionError and OverflowError."""
        value = self._value(node, point)
        size = abs(value)
        if not size < self.numbers.inf:
            raise OverflowError if self.numbers is mpmath.fp else NoValue("it is infinite")
        if self.numbers is not mpmath.fp and size and abs(self.numbers.mag(size)) > MAX_DIGITS / math.log10(2):
            raise TooMuch(f"a number of more than {MAX_DIGITS:,} digits")
        return value

    def _value(self, node: tree.Node, point: Mapping[str, float]) -> Any:
        numbers = self.numbers
        match node:
            case tree.Number(value):
                return numbers.mpf(value.numerator) / value.denominator
            case tree.Variable(name):
                return numbers.mpf(point[name])
            case tree.Constant("i"):
                return numbers.mpc(0, 1)
            case tree.Constant("infinity"):
                raise NoValue("an infinity within an expression")
            case tree.Constant(name):
                return +getattr(numbers, name)
            case tree.Sum(terms):
                values = [self.value(term, point) for term in terms]
                self.largest = max(self.largest, *map(abs, values))
                return sum(values)
            case tree.Product(factors):
                product = numbers.mpf(1)
                for factor in factors:
                    product *= self.value(factor, point)
                return product
            case tree.Quotient(above, below):
                return self.value(above, point) / self._not_zero(self.value(below, point))
            case tree.Power(base, exponent):
                return self._power(self.value(base, point), self.value(exponent, point))
            case tree.Root(degree, radicand):
                root = self._not_zero(self.value(degree, point))
                return self._power(self.value(radicand, point), 1 / root, root)
            case tree.Degrees(angle):
                return self.value(angle, point) * numbers.pi / 180
            case tree.Call(name, arguments):
                return self._call(name, *(self.value(argument, point) for argument in arguments))

    def _not_zero(self, value: Any) -> Any:
        if value == 0:
            raise NoValue("a division by zero")
        return value

    def _power(self, base: Any, exponent: Any, root: Any = 0) -> Any:
        numbers = self.numbers
        if base == 0:
            if numbers.re(exponent) <= 0:
                raise NoValue("zero to a power that is not above 0")
            return numbers.mpf(0)
        # The angle of a complex base counts as well: with a long exponent it goes round too often.
        integer = int(numbers.re(exponent))
        is_whole = exponent == integer and (numbers.im(base) == 0 or abs(integer) < _MOST_TURNS)
        if abs(exponent) * abs(numbers.log(abs(base) if is_whole else base)) > MAX_DIGITS * math.log(10):
            raise OverflowError if numbers is mpmath.fp else TooMuch(f"a power of more than {MAX_DIGITS:,} digits")
        negative = numbers.im(base) == 0 and numbers.re(base) < 0
        if negative and numbers.im(root) == 0 and numbers.re(root) % 2 == 1:  # the real root: that of -8 is -2
            return -((-numbers.re(base)) ** exponent)
        if is_whole:
            return base**integer
        if negative:
            base = numbers.mpc(base)
        return base**exponent

    def _call(self, name: str, *values: Any) -> Any:
        numbers = self.numbers
        if name.startswith("function "):  # any function, but the same for the same name
            return numbers.cos(values[0] * (1 + len(name)) + sum(map(ord, name)))
        match name:
            case "abs":
                return abs(values[0])
            case "floor" | "ceiling":
                # In floating point it is a whole number of Python, whose powers have no end.
                return numbers.convert(getattr(numbers, "floor" if name == "floor" else "ceil")(values[0]))
            case "factorial":
                return self._gamma(values[0] + 1)
            case "binomial":
                n, k = values
                return self._gamma(n + 1) / self._gamma(k + 1) / self._gamma(n - k + 1)
            case "ln":
                return numbers.log(self._not_zero(values[0]))
            case "log":
                base = values[1] if len(values) > 1 else numbers.mpf(10)
                return numbers.log(self._not_zero(values[0])) / self._not_zero(numbers.log(self._not_zero(base)))
            case "sinh" | "cosh" | "tanh" | "coth":
                if abs(values[0]) > MAX_DIGITS:
                    raise OverflowError if numbers is mpmath.fp else TooMuch(f"{name} of more than {MAX_DIGITS:,}")
        try:
            return getattr(numbers, name.replace("arc", "a"))(values[0])
        except (ValueError, ZeroDivisionError):  # mpmath's two names for a pole
            raise NoValue(f"{name} has no value there") from None

    def _gamma(self, value: Any) -> Any:
        if abs(value) > MAX_DIGITS:
            raise OverflowError if self.numbers is mpmath.fp else TooMuch(f"a factorial above {MAX_DIGITS:,}!")
        try:
            return self.numbers.gamma(value)
        except (ValueError, ZeroDivisionError):
            raise NoValue("a factorial of a negative whole number") from None
