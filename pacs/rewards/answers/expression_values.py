"""The value of an expression, and whether two have the same.

Rational numbers are compared exactly. Other values are compared in floating point where they differ by much, and
otherwise with more digits than their numbers have. Expressions with variables are equal if they are at several points.
"""

import math
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final

import mpmath

from pacs.rewards.answers.exact import NoValue, exact
from pacs.rewards.answers.expression import Call, Constant, Node, Number, Power, Product, is_decimal, variables, walk
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.refusals import TooMuch

#: A decimal is right for a value that it is apart from by this, at most: of the value if it is below 1 (so that small
#: numbers are told apart), else absolutely. (math-verify rounds to 6 places.)
DECIMAL_TOLERANCE: Final = 1e-6
#: Numbers that end are the same where one is the other rounded to so many places at least: both are then roundings of
#: another value.
ROUNDED_PLACES: Final = 6
#: Two values in floating point are different if they are apart by more than this share of the largest term.
_FLOAT_TOLERANCE: Final = 1e-6
#: What is smaller may be rounding alone.
_FLOAT_SMALL: Final = 1e-9
#: Digits beyond those of the numbers themselves.
_SPARE_DIGITS: Final = 40
#: Most of digits times functions: what would take more than about a tenth of a second.
_MOST_WORK: Final = 20_000
#: Where expressions are compared: the variables in turn below 1, above 1, negative, large, so that signs are mixed ...
_RANGES: Final = (
    (0.2, 0.9), (1.1, 3.0), (-0.9, -0.2), (5.0, 20.0), (0.2, 0.9), (-3.0, -1.1), (1.1, 3.0), (-20.0, -5.0),
)  # fmt: skip
#: ... and all of them positive, where roots and logarithms have values.
_POSITIVE: Final = ((0.2, 0.9), (0.2, 3.0), (1.1, 3.0), (5.0, 20.0))
#: Letters that stand for whole numbers.
_OF_WHOLE_NUMBERS: Final = frozenset("ijklmnpqKLMN")
#: At how many of these points both must have a value, and so many are then compared in more digits.
_ENOUGH_POINTS: Final = 2


def equal(a: Node, b: Node) -> bool:
    """Whether two expressions have the same value, wherever both have one.

    Raises:
        NoValue: If one of two constant expressions has none.
        TooMuch: If a number is too large, or it would take too long.
    """
    first, second = exact(a), exact(b)
    if first is not None and second is not None and first == second:
        return True
    if not (names := sorted(variables(a) | variables(b))):
        if infinite(a) or infinite(b):
            return infinite(a) == infinite(b)
        return _close(a, b, first, second)
    rounded = any(isinstance(part, Call) and part.name in ("floor", "ceiling") for s in (a, b) for part in walk(s))
    imaginary = any(part == Constant("i") for side in (a, b) for part in walk(side))
    for real in [False] if imaginary else [True, False]:
        points = []
        for point in _points(names, rounded=rounded):
            near = _near(a, b, point, real=real)
            if near is False:
                return False
            if near:
                points.append(point)
        if len(points) >= _ENOUGH_POINTS:
            return all(_same(a, b, point) for point in points[:_ENOUGH_POINTS])
    return False


def proportional(a: Node, b: Node, *, positive: bool = False) -> bool:
    """Whether one expression is the other one times a number other than 0 (with `positive`: above 0).

    Raises:
        NoValue: If they have no value at enough points.
        TooMuch: If a number is too large, or it would take too long.
    """
    ratios = []
    field = Field(_digits(a, b))
    for point in _points(sorted(variables(a) | variables(b))):
        with suppress(NoValue):
            x = field.value(a, point)
            y = x if b is a else field.value(b, point)
            if x == 0 or y == 0:
                return False
            ratios.append(x / y)
    if len(ratios) < _ENOUGH_POINTS:
        raise NoValue("no value at enough points")
    first = ratios[0]
    close = field.numbers.mpf(10) ** (-_SPARE_DIGITS // 2)
    same = all(abs(ratio - first) <= close * abs(first) for ratio in ratios)
    return bool(same and field.numbers.im(first) == 0 and (not positive or first > 0))


def solved_alike(a: Node, b: Node) -> bool:
    """Whether two expressions that are linear in the same highest derivative are zero for the same value of it."""
    derivatives = [max(variables(node), key=lambda name: name.count("'"), default="") for node in (a, b)]
    name = derivatives[0]
    if "'" not in name or derivatives[1] != name:
        return False
    field, alike = Field(_SPARE_DIGITS), 0
    for point in _points(sorted(variables(a) | variables(b))):
        with suppress(NoValue, ZeroDivisionError):
            zeros = []
            for node in (a, b):
                y = [field.value(node, {**point, name: float(x)}) for x in range(3)]
                if abs(y[2] - 2 * y[1] + y[0]) > abs(y[1] - y[0]) * _FLOAT_TOLERANCE:
                    return False
                zeros.append(y[0] / (y[0] - y[1]))
            if abs(zeros[0] - zeros[1]) > _FLOAT_SMALL * abs(zeros[0]):
                return False
            alike += 1
    return alike >= _ENOUGH_POINTS


def check_value(node: Node) -> None:
    """Raise `NoValue` if an expression has no value, for variables at too few points, and `TooMuch` as `equal`."""
    if infinite(node) or exact(node) is not None:
        return
    if variables(node):
        proportional(node, node)
    else:
        Field(_digits(node, node)).value(node, {})


def infinite(node: Node) -> int:
    """1 and -1 for an infinity, 0 for all else."""
    match node:
        case Constant("infinity"):
            return 1
        case Product((Number(Fraction(numerator=-1, denominator=1)), Constant("infinity"))):
            return -1
    return 0


def _close(a: Node, b: Node, first: Fraction | None, second: Fraction | None) -> bool:
    """Whether two constants are the same, or a decimal is the other one rounded."""
    if first is not None and second is not None and _terminates(first) and _terminates(second):
        return is_decimal(a) and is_decimal(b) and _is_rounded(*sorted((first, second), key=_places))
    sides = ((a, first), (b, second))
    terminating = [value is not None and _terminates(value) and not is_decimal(node) for node, value in sides]
    if not (is_decimal(a) or is_decimal(b)) or any(terminating):
        if first is not None and second is not None:
            return False
        if (near := _near(a, b, {}, real=False)) is None:
            raise NoValue("a division by zero")
        return near and _same(a, b, {})
    field = Field(_digits(a, b))
    x, y = field.value(a, {}), field.value(b, {})
    return bool(abs(x - y) <= DECIMAL_TOLERANCE * min(1, max(abs(x), abs(y))) * (1 + 1e-6))


def _terminates(value: Fraction) -> bool:
    """Whether its decimals come to an end."""
    return pow(10, value.denominator.bit_length(), value.denominator) == 0


def _places(value: Fraction) -> int:
    """How many digits a number that ends has behind the point, of its value's 5,000 at most."""
    places, below = 0, value.denominator
    while 10**places % below:
        places += 1
    return places


def _is_rounded(short: Fraction, long: Fraction) -> bool:
    """Whether a number is another one rounded, to as many places and digits as a value that does not end is."""
    places = _places(short)
    enough = places >= ROUNDED_PLACES and abs(short) * 10**places >= 10 ** (ROUNDED_PLACES - 1)
    return enough and round(long, places) == short


def _points(names: list[str], *, rounded: bool = False) -> Iterator[Mapping[str, float]]:
    """Values for the variables, the same for every pair of expressions.

    Where something is rounded to whole numbers, whole values too, and of letters that are used for such no others.
    """
    draw = random.Random(len(names))
    if rounded:
        for value in range(1, 18):
            yield {name: float(draw.randint(1, 17) if k else value) for k, name in enumerate(names)}
        if _OF_WHOLE_NUMBERS.issuperset(names):
            return
    for first in range(len(_RANGES)):
        ranges = [_RANGES[(first + 3 * k) % len(_RANGES)] for k in range(len(names))]
        yield {name: draw.uniform(*between) for name, between in zip(names, ranges, strict=True)}
    for between in _POSITIVE:
        yield {name: draw.uniform(*between) for name in names}


def _near(a: Node, b: Node, point: Mapping[str, float], *, real: bool) -> bool | None:
    """Whether two expressions may have the same value at a point, by floating point.

    None if one has no value there (with `real`: no real one).
    """
    rough = Field(None)
    try:
        x, y = rough.value(a, point), rough.value(b, point)
    except OverflowError:
        return True
    except (NoValue, ZeroDivisionError):
        return None
    if real and (x.imag != 0 or y.imag != 0):
        return None
    size = max(abs(x), abs(y))
    return bool(size <= _FLOAT_SMALL or abs(x - y) <= _FLOAT_TOLERANCE * max(size, rough.largest))


def _same(a: Node, b: Node, point: Mapping[str, float]) -> bool:
    """Whether two expressions have the same value at a point, by as many digits as it takes."""
    digits = _digits(a, b)
    first = _distance(a, b, point, digits)
    # A difference that more digits make smaller is one of rounding alone.
    return bool(first == 0 or _distance(a, b, point, 2 * digits) <= first * mpmath.mpf(10) ** (-digits // 4))


def _distance(a: Node, b: Node, point: Mapping[str, float], digits: int) -> Any:
    """How far two values are apart; 0 if the digits do not tell them apart."""
    field = Field(digits)
    x, y = field.value(a, point), field.value(b, point)
    apart = abs(x - y)
    return 0 if apart <= max(abs(x), abs(y)) * field.numbers.mpf(10) ** (-digits // 2) else apart


def _digits(a: Node, b: Node) -> int:
    """With how many digits two expressions are to be compared."""
    digits, functions, gammas = 0.0, 1, 0
    for part in (*walk(a), *walk(b)):
        if isinstance(part, Call | Power | Constant):
            functions += 1
            gammas += isinstance(part, Call) and part.name in ("factorial", "binomial") and exact(part) is None
        value = exact(part)
        if value is not None:
            digits = max(digits, (value.numerator.bit_length() + value.denominator.bit_length()) * math.log10(2))
    needed = _SPARE_DIGITS + 2 * math.ceil(digits)
    functions += gammas * min(100, needed // 4)  # they take so much longer
    if needed * functions > _MOST_WORK:
        raise TooMuch(f"{functions} functions of numbers of {digits:.0f} digits")
    return needed
