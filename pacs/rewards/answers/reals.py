"""The set of the real numbers: how it is written, and what is left of it without some numbers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pacs.rewards.answers import kinds
from pacs.rewards.answers.brackets import first
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.expression import Constant, negative
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.refusals import Unreadable, refuse
from pacs.rewards.answers.tokens import Token, joined

_INFINITY: Final = Constant("infinity")
REALS: Final = kinds.Bracketed("(", (kinds.Expression(negative(_INFINITY)), kinds.Expression(_INFINITY)), ")")


def is_real(tokens: Sequence[Token]) -> bool:
    """Whether these say nothing, or that it is a real number."""
    return joined(tokens) in ("", "\\in\\mathbb{R}", "\\in\\R", "\\inR")


def is_domain(tokens: Sequence[Token]) -> bool:
    """Whether these say of something that it is a real number."""
    return any(token.text == "\\in" for token in tokens) and is_real(tokens[first(tokens, "\\in") :])


def without(items: Sequence[kinds.Answer]) -> kinds.Answer:
    """The intervals between numbers that are left out. Raises Unreadable if they are no real numbers."""
    nodes = [item.node if isinstance(item, kinds.Expression) else refuse("a number is missing") for item in items]
    try:
        in_order = sorted(nodes, key=lambda node: float(Field(None).value(node, {})))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError, NoValue):
        raise Unreadable("what is left out are no real numbers") from None
    ends = [REALS.items[0], *map(kinds.Expression, in_order), REALS.items[1]]
    return kinds.Union(tuple(kinds.Bracketed("(", (a, b), ")") for a, b in pairwise(ends)))
