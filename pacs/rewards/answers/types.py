"""What an answer can be."""

from fractions import Fraction

from pacs.rewards.answers.expression import Frozen, Node, Number, Product, Variable


class Answer(Frozen):
    """One of the classes below."""


class Expression(Answer):
    """A number or a formula, and the unit behind it."""

    node: Node
    unit: str | None = None


class Words(Answer):
    """Text, in lower case: "monday", "no solution"; what is written in capitals alone (AB) stays so."""

    text: str


class Collection(Answer):
    """A set, or a list of several answers, in any order; with `listed`, as they are written one after the other."""

    items: tuple[Answer, ...]
    listed: bool = False


class Bracketed(Answer):
    """A point or an interval: which of the two, only the problem knows. An inequality is an interval."""

    opening: str
    items: tuple[Answer, ...]
    closing: str


class Union(Answer):
    """Intervals and sets, in any order."""

    members: tuple[Answer, ...]


class Matrix(Answer):
    """Rows of entries."""

    rows: tuple[tuple[Answer, ...], ...]


class Named(Answer):
    """What a variable is (x = 5), or is in (x > 5)."""

    name: str
    value: Answer


class Approximation(Answer):
    r"""A value behind \\approx."""

    value: Answer


class Equation(Answer):
    """Two sides; alone it is what makes `difference` zero."""

    difference: Node


class Inequality(Answer):
    """What makes `difference` positive, or with `or_equal` not negative."""

    difference: Node
    or_equal: bool


class Congruence(Answer):
    """A residue of a modulus."""

    name: str | None
    residue: Node
    modulus: Node


class Ratio(Answer):
    """a : b, or a : b : c."""

    terms: tuple[Answer, ...]


class Time(Answer):
    """A time of day, as its numbers are written; `am`, `pm` or neither."""

    numbers: tuple[int, ...]
    meridiem: str | None


class Numeral(Answer):
    """Digits of a number in a base that stands with it."""

    digits: str
    base: int


class Operation(Answer):
    """Something with an operation that is not calculated here, such as an integral."""

    name: str


def as_node(answer: Answer) -> Node | None:
    """The product that capitals may be (PV), and the number that a numeral of base 10 is; None of any other answer."""
    match answer:
        case Words(text) if text.isalpha() and text.isupper():
            return Product(tuple(map(Variable, text)))
        case Numeral(digits, 10):
            return Number(Fraction(digits))
    return None
