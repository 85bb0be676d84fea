"""An expression as a tree. Its numbers are as they are written: what is to be calculated is not calculated."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import dataclass_transform


@dataclass_transform(frozen_default=True)
class Frozen:
    """Makes each class below it a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class Node(Frozen):
    """What an expression is made of."""


class Number(Node):
    """A numeral; with `decimal`, one that may be rounded; with `repeating`, one with a bar over digits that repeat."""

    value: Fraction
    decimal: bool = False
    repeating: bool = False


class Constant(Node):
    """`pi`, `e`, `i` or `infinity`."""

    name: str


class Variable(Node):
    """A letter with its index and its primes; upper and lower case differ."""

    name: str


class Sum(Node):
    """Two terms or more; one that is taken away is a `Product` with -1."""

    terms: tuple[Node, ...]


class Product(Node):
    """Two factors or more."""

    factors: tuple[Node, ...]


class Quotient(Node):
    """A fraction."""

    above: Node
    below: Node


class Power(Node):
    """Base and exponent."""

    base: Node
    exponent: Node


class Root(Node):
    """The root of a degree, 2 for a square root."""

    degree: Node
    radicand: Node


class Degrees(Node):
    """So many degrees of an angle."""

    angle: Node


class Call(Node):
    """A function of its arguments: `sin`, `log` (base 10 where none is given), `factorial`, `binomial`, ..."""

    name: str
    arguments: tuple[Node, ...]


MINUS_ONE = Number(Fraction(-1))
TWO = Number(Fraction(2))


def negative(node: Node) -> Node:
    """The node with the other sign, as one product."""
    match node:
        case Number(value, decimal, repeating):
            return Number(-value, decimal, repeating)
        case Product(factors):
            return Product((MINUS_ONE, *factors))
    return Product((MINUS_ONE, node))


def difference(node: Node, other: Node) -> Node:
    """One node less another; the node itself where the other is 0."""
    return node if other == Number(Fraction(0)) else Sum((node, negative(other)))


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    match node:
        case Sum(nodes) | Product(nodes) | Call(_, nodes):
            return nodes
        case Quotient(a, b) | Power(a, b) | Root(a, b):
            return (a, b)
        case Degrees(a):
            return (a,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for part in parts(node):
        yield from walk(part)


def variables(node: Node) -> frozenset[str]:
    """The names of all variables in an expression."""
    return frozenset(part.name for part in walk(node) if isinstance(part, Variable))


def is_decimal(node: Node) -> bool:
    """Whether there is a numeral in it that may be rounded."""
    return any(isinstance(part, Number) and part.decimal for part in walk(node))
