"""The value of an expression of rational numbers, exactly; and what an expression is made of as it is written."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from pacs.rewards.answers.expression import Call, Node, Number, Power, Product, Quotient, Root, Sum, negative
from pacs.rewards.answers.refusals import check_digits


class NoValue(ValueError):
    """An expression has no value: a division by zero, an infinity less another."""


@lru_cache(maxsize=2**12)
def exact(node: Node) -> Fraction | None:
    """The value of an expression of rational numbers; None for any other.

    Raises:
        NoValue: At a division by zero.
        TooMuch: If a number in it has too many digits.
    """
    match node:
        case Number(value):
            return value
        case Sum(terms):
            return _folded(terms, Fraction(0), operator.add)
        case Product(factors):
            return _folded(factors, Fraction(1), operator.mul)
        case Quotient(above, below):
            first, second = exact(above), exact(below)
            if second == 0:
                raise NoValue("a division by zero")
            return None if first is None or second is None else _checked(first / second)
        case Power(base, exponent):
            return _power(exact(base), exact(exponent))
        case Root(degree, radicand):
            root = exact(degree)
            return None if not root else _power(exact(radicand), 1 / root)
        case Call(name, arguments):
            values = [exact(argument) for argument in arguments]
            return None if None in values else _call(name, *values)  # type: ignore[arg-type]
    return None


def rational(node: Node) -> Fraction | None:
    """As `exact`, and None also for an expression that has no value."""
    try:
        return exact(node)
    except NoValue:
        return None


def _folded(nodes: Sequence[Node], value: Fraction, by: Callable[[Fraction, Fraction], Fraction]) -> Fraction | None:
    for node in nodes:
        part = exact(node)
        if part is None:
            return None
        value = _checked(by(value, part))
    return value


def _checked(value: Fraction) -> Fraction:
    check_digits(max(value.numerator.bit_length(), value.denominator.bit_length()) * math.log10(2))
    return value


def _power(base: Fraction | None, exponent: Fraction | None) -> Fraction | None:
    if base is None or exponent is None:
        return None
    if base == 0:
        if exponent <= 0:
            raise NoValue("zero to a power that is not above 0")
        return base
    size = max(math.log10(abs(base.numerator)), math.log10(base.denominator))
    check_digits(size * float(min(abs(exponent), Fraction(10**9))) if abs(base) != 1 else 0)
    if abs(base) != 1 or exponent.denominator != 1:
        roots = [_whole_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
        if None in roots:
            return None
        base = Fraction(*roots)  # type: ignore[arg-type]
        return base**exponent.numerator
    return base if exponent % 2 else Fraction(1)


def _whole_root(value: int, degree: int) -> int | None:
    """The whole number of which the power is the value; None if there is none (of negative ones there is none)."""
    if degree == 1:
        return value
    if value < 0 or degree > 1000:
        return None
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low if low**degree == value else None


def _call(name: str, *values: Fraction) -> Fraction | None:
    are_integers = all(value.denominator == 1 for value in values)
    match name, values:
        case "abs", (value,):
            return abs(value)
        case "floor" | "ceiling", (value,):
            return Fraction(math.floor(value) if name == "floor" else math.ceil(value))
        case "factorial", (value,) if are_integers and value >= 0:
            check_digits(math.lgamma(min(int(value), 10**9) + 1) / math.log(10))
            return Fraction(math.factorial(int(value)))
        case "binomial", (n, k) if are_integers and n >= k >= 0:
            of, taken = min(int(n), 10**9), min(int(k), 10**9)
            check_digits((math.lgamma(of + 1) - math.lgamma(taken + 1) - math.lgamma(of - taken + 1)) / math.log(10))
            return Fraction(math.comb(of, taken))
        case "factorial" | "binomial", _:
            raise NoValue(f"a {name} of what are no such whole numbers")
    return None


def all_terms(terms: Iterable[Node], sign: int = 1) -> Iterator[Node]:
    """The terms of a sum without the brackets of sums in it."""
    for term in terms:
        match term:
            case Sum(inner):
                yield from all_terms(inner, sign)
            case Product((Number(Fraction(numerator=-1, denominator=1)), Sum(inner))):
                yield from all_terms(inner, -sign)
            case _:
                yield term if sign > 0 else negative(term)


def factors_of(node: Node) -> Iterator[Node]:
    """The factors that a node is written as, without the brackets of products in it: itself, if it is no product."""
    if isinstance(node, Product):
        for factor in node.factors:
            yield from factors_of(factor)
    else:
        yield node


def kind_of(term: Node) -> tuple[object, ...] | None:
    """What two terms of a sum must share to be one; None for a rational number."""
    if rational(term) is not None:
        return None
    names: list[str] = []
    for factor in factors_of(term):
        if isinstance(factor, Quotient) and rational(factor.below) is not None:
            names += map(repr, factors_of(factor.above))
        elif rational(factor) is None:
            names.append(repr(factor))
    return tuple(sorted(name for name in names if not name.startswith("Number(")))


def radicand_of(term: Node) -> Fraction | None:
    """The number under the only square root of a term; None if there is no such one."""
    match [factor for factor in factors_of(term) if rational(factor) is None]:
        case [Root(Number(Fraction(numerator=2, denominator=1)), radicand)]:
            return rational(radicand)
    return None


def content_of(node: Node) -> int:
    """The largest whole number that can be taken out of an expression as it is written; 1 if there is none."""
    match node:
        case Number(Fraction(denominator=1) as value) if value:
            return abs(int(value))
        case Product(factors):
            return math.prod(map(content_of, factors))
        case Sum(terms):
            return math.gcd(*map(content_of, terms))
    return 1
