"""What an expression is made of as it is written: its terms and factors, and what in them could be put together."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from pacs.rewards.answers.exact import rational
from pacs.rewards.answers.expression import Node, Number, Product, Quotient, Root, Sum, negative


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


def all_factors(factors: Iterable[Node]) -> Iterator[Node]:
    """The factors of a product without the brackets of products in it."""
    for factor in factors:
        if isinstance(factor, Product):
            yield from all_factors(factor.factors)
        else:
            yield factor


def factors_of(node: Node) -> tuple[Node, ...]:
    """The factors that a node is written as: itself, if it is no product."""
    return node.factors if isinstance(node, Product) else (node,)


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
