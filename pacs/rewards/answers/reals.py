"""Sets of real numbers: their names, intervals and points, and what several of them come to together."""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import Final, TypeGuard

from pacs.rewards.answers import types
from pacs.rewards.answers.brackets import first
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.expression import Constant, Number, Variable, negative
from pacs.rewards.answers.expression_values import equal, infinite
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.refusals import MAX_ITEMS, TooMuch, Unreadable, refuse
from pacs.rewards.answers.signs import FLIPPED, bracket
from pacs.rewards.answers.tokens import Token, joined

_INFINITY: Final = Constant("infinity")
_ZERO: Final = types.Expression(Number(Fraction(0)))
REALS: Final = types.Bracketed("(", (types.Expression(negative(_INFINITY)), types.Expression(_INFINITY)), ")")


#: Signs behind the names of sets: `^+`, `_{>0}`, `_0^+` (a star is typed, and is read as a dot).
_SUFFIXES: Final = {
    **dict.fromkeys(["^+", "_>0", "^>0", "_+^\\cdot", "^\\cdot_+", "_++"], "positive"),
    **dict.fromkeys(["^-", "_<0", "^<0", "_-^\\cdot", "^\\cdot_-"], "negative"),
    **dict.fromkeys(["_\\ge0", "^\\ge0", "_0^+", "^+_0"], "nonnegative"),
    **dict.fromkeys(["_\\le0", "^\\le0", "_0^-", "^-_0"], "nonpositive"),
    **dict.fromkeys(["^\\cdot", "_\\ne0", "^\\ne0"], "nonzero"),
}
_SIGNS: Final = {"positive": ">", "negative": "<", "nonnegative": "\\ge", "nonpositive": "\\le"}
_NAMED = re.compile(r"\\(?:mathbb([RZNQC])|(R))(.*)")


def named_set(tokens: Sequence[Token]) -> types.Answer | None:
    r"""The set of the name \\mathbb{R}, \\mathbb{R}^+, \\mathbb{Z}_{>0}, ...; None if the tokens are no such name."""
    found = _NAMED.fullmatch(joined(token for token in tokens if token.text not in ("{", "}")))
    if found is None or (found[3] and found[3] not in _SUFFIXES):
        return None
    return set_of(found[1] or found[2], _SUFFIXES.get(found[3], ""))


def set_of(letter: str, which: str) -> types.Answer:
    """The real numbers (R), or a set of others, or those of them that are `positive`, `nonnegative`, `nonzero`, ..."""
    if letter != "R":
        return types.Expression(Variable(f"mathbb {letter}{which and ' '}{which}"))
    if which in _SIGNS:
        return half_line(_SIGNS[which], _ZERO)
    return without([_ZERO]) if which == "nonzero" else REALS


def half_line(sign: str, end: types.Expression) -> types.Bracketed:
    """The numbers that are below (above, ...) one."""
    low, high = REALS.items
    if sign in (">", "\\ge"):
        return types.Bracketed(bracket(sign, "(["), (end, high), ")")
    return types.Bracketed("(", (low, end), bracket(sign, ")]"))


def of_size(sign: str, bound: types.Expression) -> types.Answer:
    """The numbers whose absolute value is below (above, ...) a number. Raises Unreadable if none is, or every one."""
    place, opposite = _place(bound), types.Expression(negative(bound.node))
    if place < 0 or (place == 0 and sign != ">"):
        raise Unreadable("a size that no number has, or every one")
    if sign in ("<", "\\le"):
        return types.Bracketed(bracket(sign, "(["), (opposite, bound), bracket(sign, ")]"))
    return types.Union((half_line(FLIPPED[sign], opposite), half_line(sign, bound)))


def both_of_size(size: types.Answer) -> list[types.Answer]:
    """The two numbers of an absolute value above 0. Raises Unreadable if it is none."""
    if not isinstance(size, types.Expression) or _place(size) <= 0:
        raise Unreadable("no size of two numbers")
    return [size, types.Expression(negative(size.node))]


def is_interval(answer: types.Answer) -> TypeGuard[types.Bracketed]:
    """Whether it is an interval, or a point of two entries."""
    return isinstance(answer, types.Bracketed) and len(answer.items) == 2


def is_no_point(answer: types.Answer) -> bool:
    """Whether brackets can be an interval's alone: (1, 2], (1, \\infty)."""
    match answer:
        case types.Bracketed("(", items, ")"):
            return any(isinstance(item, types.Expression) and infinite(item.node) for item in items)
    return isinstance(answer, types.Bracketed)


def union(members: Sequence[types.Answer]) -> types.Answer:
    """Intervals and numbers together: each number alone, but for those that close an interval's open end.

    Raises:
        TooMuch: If there are too many.
    """
    flat = list(chain.from_iterable(_members(member) for member in members))
    if len(flat) > MAX_ITEMS:
        raise TooMuch(f"more than {MAX_ITEMS} intervals")
    points = [member for member in flat if isinstance(member, types.Expression)]
    for point in points:
        closed = [_closed_by(point, member) if is_interval(member) else member for member in flat]
        if closed != flat:
            flat = closed
            flat.remove(point)
    return flat[0] if len(flat) == 1 else types.Union(tuple(flat))


def _members(answer: types.Answer) -> Sequence[types.Answer]:
    match answer:
        case types.Union(members):
            return members
        case types.Collection(items) if all(isinstance(item, types.Expression) for item in items):
            return items
        case types.Bracketed("[", (low, high), "]") if low == high:
            return (low,)
    return (answer,)


def _closed_by(point: types.Expression, interval: types.Bracketed) -> types.Bracketed:
    opening, (low, high), closing = interval.opening, interval.items, interval.closing
    if opening == "(" and _are_same(point, low):
        opening = "["
    if closing == ")" and _are_same(point, high):
        closing = "]"
    return types.Bracketed(opening, (low, high), closing)


def _are_same(one: types.Expression, other: types.Answer) -> bool:
    try:
        close = math.isclose(_place(one), _place(other), abs_tol=1e-9)
        return close and isinstance(other, types.Expression) and equal(one.node, other.node)
    except (Unreadable, NoValue):
        return False


def is_real(tokens: Sequence[Token]) -> bool:
    """Whether these say nothing, or that it is a real number."""
    return joined(tokens) in ("", "\\in\\mathbb{R}", "\\in\\R", "\\inR")


def is_domain(tokens: Sequence[Token]) -> bool:
    """Whether these say of something that it is a real number."""
    return any(token.text == "\\in" for token in tokens) and is_real(tokens[first(tokens, "\\in") :])


def all_of(alternatives: Sequence[Sequence[types.Answer]], *, logical: bool = False) -> types.Answer:
    """The numbers that meet all conditions of one of the alternatives.

    Conditions that nothing meets together are alternatives themselves, as in x < 1 and x > 3; but not where the sign of
    logic joins them (`logical`).

    Args:
        alternatives: of each the conditions on one variable, as sets: intervals, numbers, and unions of them.

    Raises:
        Unreadable: If they are other sets.
    """
    members: list[types.Answer] = []
    for conditions in filter(None, alternatives):
        sets = [_intervals(condition) for condition in conditions]
        common = sets[0]
        for other in sets[1:]:
            common = [both for one in common for another in other if (both := _common(one, another))]
        if not common and logical:
            raise Unreadable("conditions that nothing meets")
        members += common or [interval for intervals in sets for interval in intervals]
    return union(members)


def _intervals(condition: types.Answer) -> list[types.Bracketed]:
    value = condition.value if isinstance(condition, types.Named) else condition
    intervals = []
    for member in value.members if isinstance(value, types.Union) else (value,):
        match member:
            case types.Bracketed(_, (_, _), _):
                intervals.append(member)
            case types.Expression():
                intervals.append(types.Bracketed("[", (member, member), "]"))
            case types.Collection(items):
                intervals += chain.from_iterable(map(_intervals, items))
            case _:
                raise Unreadable("a condition that is no interval")
    return intervals


def _common(one: types.Bracketed, other: types.Bracketed) -> types.Bracketed | None:
    """The interval that two intervals share; None if that is empty."""
    low, opening = max(
        ((each.items[0], each.opening) for each in (one, other)), key=lambda end: (_place(end[0]), end[1] == "(")
    )
    high, closing = min(
        ((each.items[1], each.closing) for each in (one, other)), key=lambda end: (_place(end[0]), end[1] == "]")
    )
    if _place(low) > _place(high) or (_place(low) == _place(high) and (opening, closing) != ("[", "]")):
        return None
    return types.Bracketed(opening, (low, high), closing)


def _place(end: types.Answer) -> float:
    """An end of an interval in floating point. Raises Unreadable if it is no number."""
    if not isinstance(end, types.Expression):
        raise Unreadable("an end of an interval that is no number")
    if sign := infinite(end.node):
        return sign * math.inf
    try:
        return float(Field(None).value(end.node, {}))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError, NoValue):
        raise Unreadable("an end of an interval that is no number") from None


def without(items: Sequence[types.Answer]) -> types.Answer:
    """The intervals between numbers that are left out. Raises Unreadable if they are no real numbers."""
    nodes = [item.node if isinstance(item, types.Expression) else refuse("a number is missing") for item in items]
    in_order = sorted(map(types.Expression, nodes), key=_place)
    ends = [REALS.items[0], *in_order, REALS.items[1]]
    return types.Union(tuple(types.Bracketed("(", (a, b), ")") for a, b in pairwise(ends)))
