"""The set of the real numbers: how it is written, and what is left of it without some numbers."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from pacs.rewards.answers import kinds
from pacs.rewards.answers.brackets import first
from pacs.rewards.answers.evaluate import infinite
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


def all_of(alternatives: Sequence[Sequence[kinds.Answer]]) -> kinds.Answer:
    """The numbers that meet all conditions of one of the alternatives.

    Conditions that nothing meets together are alternatives themselves, as in x < 1 and x > 3.

    Args:
        alternatives: of each the conditions on one variable, as sets: intervals, and unions of them.

    Raises:
        Unreadable: If they are other sets.
    """
    members: list[kinds.Answer] = []
    for conditions in filter(None, alternatives):
        sets = [_intervals(condition) for condition in conditions]
        common = sets[0]
        for other in sets[1:]:
            common = [both for one in common for another in other if (both := _common(one, another))]
        members += common or [interval for intervals in sets for interval in intervals]
    return members[0] if len(members) == 1 else kinds.Union(tuple(members))


def _intervals(condition: kinds.Answer) -> list[kinds.Bracketed]:
    value = condition.value if isinstance(condition, kinds.Named) else condition
    members = value.members if isinstance(value, kinds.Union) else (value,)
    if not all(isinstance(member, kinds.Bracketed) and len(member.items) == 2 for member in members):
        raise Unreadable("a condition that is no interval")
    return list(members)  # type: ignore[arg-type]


def _common(one: kinds.Bracketed, other: kinds.Bracketed) -> kinds.Bracketed | None:
    """The interval that two intervals share; None if that is empty."""
    low, opening = max(
        ((each.items[0], each.opening) for each in (one, other)), key=lambda end: (_place(end[0]), end[1] == "(")
    )
    high, closing = min(
        ((each.items[1], each.closing) for each in (one, other)), key=lambda end: (_place(end[0]), end[1] == "]")
    )
    if _place(low) > _place(high) or (_place(low) == _place(high) and (opening, closing) != ("[", "]")):
        return None
    return kinds.Bracketed(opening, (low, high), closing)


def _place(end: kinds.Answer) -> float:
    """An end of an interval in floating point. Raises Unreadable if it is no number."""
    if not isinstance(end, kinds.Expression):
        raise Unreadable("an end of an interval that is no number")
    if sign := infinite(end.node):
        return sign * math.inf
    try:
        return float(Field(None).value(end.node, {}))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError, NoValue):
        raise Unreadable("an end of an interval that is no number") from None


def without(items: Sequence[kinds.Answer]) -> kinds.Answer:
    """The intervals between numbers that are left out. Raises Unreadable if they are no real numbers."""
    nodes = [item.node if isinstance(item, kinds.Expression) else refuse("a number is missing") for item in items]
    in_order = sorted(map(kinds.Expression, nodes), key=_place)
    ends = [REALS.items[0], *in_order, REALS.items[1]]
    return kinds.Union(tuple(kinds.Bracketed("(", (a, b), ")") for a, b in pairwise(ends)))
