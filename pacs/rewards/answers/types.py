"""What an answer can be."""

from dataclasses import dataclass
from typing import TypeAlias

from pacs.rewards.answers.expression import Node


@dataclass(frozen=True, slots=True)
class Expression:
    """A number or a formula, and the unit behind it."""

    node: Node
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """Text, in lower case: "monday", "no solution"; what is written in capitals alone (AB) stays so."""

    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A set, or a list of several answers, in any order; with `listed`, as they are written one after the other."""

    items: tuple["Answer", ...]
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Bracketed:
    """A point or an interval: which of the two, only the problem knows. An inequality is an interval."""

    opening: str
    items: tuple["Answer", ...]
    closing: str


@dataclass(frozen=True, slots=True)
class Union:
    """Intervals and sets, in any order."""

    members: tuple["Answer", ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple["Answer", ...], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """What a variable is (x = 5), or is in (x > 5)."""

    name: str
    value: "Answer"


@dataclass(frozen=True, slots=True)
class Approximation:
    r"""A value behind \\approx."""

    value: "Answer"


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides; alone it is what makes `difference` zero."""

    difference: Node


@dataclass(frozen=True, slots=True)
class Inequality:
    """What makes `difference` positive, or with `or_equal` not negative."""

    difference: Node
    or_equal: bool


@dataclass(frozen=True, slots=True)
class Congruence:
    """A residue of a modulus."""

    name: str | None
    residue: Node
    modulus: Node


@dataclass(frozen=True, slots=True)
class Ratio:
    """a : b, or a : b : c."""

    terms: tuple["Answer", ...]


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day, as its numbers are written; `am`, `pm` or neither."""

    numbers: tuple[int, ...]
    meridiem: str | None


@dataclass(frozen=True, slots=True)
class Numeral:
    """Digits of a number in a base that stands with it."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Something with an operation that is not calculated here, such as an integral."""

    name: str


Answer: TypeAlias = (
    Expression
    | Words
    | Collection
    | Bracketed
    | Union
    | Matrix
    | Named
    | Approximation
    | Equation
    | Inequality
    | Congruence
    | Ratio
    | Time
    | Numeral
    | Operation
)
