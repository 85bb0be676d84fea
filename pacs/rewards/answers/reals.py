"""Sets of real numbers: their names, intervals and points, and what several of them come to together."""

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import Final

from pacs.rewards.answers import kinds
from pacs.rewards.answers.bounds import MAX_ITEMS, TooMuch
from pacs.rewards.answers.brackets import first
from pacs.rewards.answers.evaluate import equal, infinite
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.expression import Constant, Number, Variable, negative
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.refusals import Unreadable, refuse
from pacs.rewards.answers.signs import bracket
from pacs.rewards.answers.tokens import Token, joined

_INFINITY: Final = Constant("infinity")
_ZERO: Final = kinds.Expression(Number(Fraction(0)))
REALS: Final = kinds.Bracketed("(", (kinds.Expression(negative(_INFINITY)), kinds.Expression(_INFINITY)), ")")


#: Signs behind the names of sets: `^+`, `_{>0}`, `_0^+` (a star is typed, and is read as a dot).
_SUFFIXES: Final = {
    **dict.fromkeys(["^+", "_>0", "^>0", "_+^\\cdot", "^\\cdot_+", "_++"], "positive"),
    **dict.fromkeys(["^-", "_<0", "^<0", "_-^\\cdot", "^\\cdot_-"], "negative"),
    **dict.fromkeys(["_\\ge0", "^\\ge0", "_0^+", "^+_0"], "nonnegative"),
    **dict.fromkeys(["_\\le0", "^\\le0", "_0^-", "^-_0"], "nonpositive"),
    **dict.fromkeys(["^\\cdot", "_\\ne0", "^\\ne0"], "nonzero"),
}
_NAMED = re.compile(r"\\(?:mathbb([RZNQC])|(R))(.*)")


def named_set(tokens: Sequence[Token]) -> kinds.Answer | None:
    r"""The set of the name \\mathbb{R}, \\mathbb{R}^+, \\mathbb{Z}_{>0}, ...; None if the tokens are no such name."""
    if tokens[0].text not in ("\\mathbb", "\\R"):
        return None
    found = _NAMED.fullmatch(joined(token for token in tokens if token.text not in ("{", "}")))
    if found is None or (found[3] and found[3] not in _SUFFIXES):
        return None
    return set_of(found[1] or found[2], _SUFFIXES.get(found[3], ""))


def set_of(letter: str, which: str) -> kinds.Answer | None:
    """The real numbers (R), or a set of others, or those that are `positive`, `nonnegative`, ...; None if unknown."""
    if letter != "R":
        return kinds.Expression(Variable(f"mathbb {letter}{which and ' '}{which}"))
    low, high = REALS.items
    match which:
        case "":
            return REALS
        case "positive" | "nonnegative":
            return kinds.Bracketed("(" if which == "positive" else "[", (_ZERO, high), ")")
        case "negative" | "nonpositive":
            return kinds.Bracketed("(", (low, _ZERO), ")" if which == "negative" else "]")
        case "nonzero":
            return without([_ZERO])
    return None


def of_size(sign: str, bound: kinds.Expression) -> kinds.Answer:
    """The numbers whose absolute value is below (above, ...) a number. Raises Unreadable if none is, or every one."""
    place, opposite, (low, high) = _place(bound), kinds.Expression(negative(bound.node)), REALS.items
    if place < 0 or (place == 0 and sign != ">"):
        raise Unreadable("a size that no number has, or every one")
    if sign in ("<", "\\le"):
        return kinds.Bracketed(bracket(sign, "(["), (opposite, bound), bracket(sign, ")]"))
    below = kinds.Bracketed("(", (low, opposite), bracket(sign, ")]"))
    return kinds.Union((below, kinds.Bracketed(bracket(sign, "(["), (bound, high), ")")))


def both_of_size(size: kinds.Answer) -> list[kinds.Answer]:
    """The two numbers of an absolute value above 0. Raises Unreadable if it is none."""
    if not isinstance(size, kinds.Expression) or _place(size) <= 0:
        raise Unreadable("no size of two numbers")
    return [size, kinds.Expression(negative(size.node))]


def is_interval(answer: kinds.Answer) -> bool:
    """Whether it is an interval, or a point of two entries."""
    return isinstance(answer, kinds.Bracketed) and len(answer.items) == 2


def is_no_point(answer: kinds.Answer) -> bool:
    """Whether brackets can be an interval's alone: (1, 2], (1, \\infty)."""
    match answer:
        case kinds.Bracketed("(", items, ")"):
            return any(isinstance(item, kinds.Expression) and infinite(item.node) for item in items)
    return isinstance(answer, kinds.Bracketed)


def union(members: Sequence[kinds.Answer]) -> kinds.Answer:
    """Intervals and numbers together: each number alone, but for those that close an interval's open end.

    Raises:
        TooMuch: If there are too many.
    """
    flat = list(chain.from_iterable(_members(member) for member in members))
    if len(flat) > MAX_ITEMS:
        raise TooMuch(f"more than {MAX_ITEMS} intervals")
    points = [member for member in flat if isinstance(member, kinds.Expression)]
    for point in points:
        closed = [_closed_by(point, member) if isinstance(member, kinds.Bracketed) else member for member in flat]
        if closed != flat:
            flat = closed
            flat.remove(point)
    return flat[0] if len(flat) == 1 else kinds.Union(tuple(flat))


def _members(answer: kinds.Answer) -> Sequence[kinds.Answer]:
    match answer:
        case kinds.Union(members):
            return members
        case kinds.Collection(items) if all(isinstance(item, kinds.Expression) for item in items):
            return items
        case kinds.Bracketed("[", (low, high), "]") if low == high:
            return (low,)
    return (answer,)


def _closed_by(point: kinds.Expression, interval: kinds.Bracketed) -> kinds.Bracketed:
    if len(interval.items) != 2:
        return interval
    opening, (low, high), closing = interval.opening, interval.items, interval.closing
    if opening == "(" and _are_same(point, low):
        opening = "["
    if closing == ")" and _are_same(point, high):
        closing = "]"
    return kinds.Bracketed(opening, (low, high), closing)


def _are_same(one: kinds.Expression, other: kinds.Answer) -> bool:
    try:
        close = math.isclose(_place(one), _place(other), abs_tol=1e-9)
        return close and isinstance(other, kinds.Expression) and equal(one.node, other.node)
    except (Unreadable, NoValue):
        return False


def is_real(tokens: Sequence[Token]) -> bool:
    """Whether these say nothing, or that it is a real number."""
    return joined(tokens) in ("", "\\in\\mathbb{R}", "\\in\\R", "\\inR")


def is_domain(tokens: Sequence[Token]) -> bool:
    """Whether these say of something that it is a real number."""
    return any(token.text == "\\in" for token in tokens) and is_real(tokens[first(tokens, "\\in") :])


def all_of(alternatives: Sequence[Sequence[kinds.Answer]], *, logical: bool = False) -> kinds.Answer:
    """The numbers that meet all conditions of one of the alternatives.

    Conditions that nothing meets together are alternatives themselves, as in x < 1 and x > 3; but not where the sign of
    logic joins them (`logical`).

    Args:
        alternatives: of each the conditions on one variable, as sets: intervals, numbers, and unions of them.

    Raises:
        Unreadable: If they are other sets.
    """
    members: list[kinds.Answer] = []
    for conditions in filter(None, alternatives):
        sets = [_intervals(condition) for condition in conditions]
        common = sets[0]
        for other in sets[1:]:
            common = [both for one in common for another in other if (both := _common(one, another))]
        if not common and logical:
            raise Unreadable("conditions that nothing meets")
        members += common or [interval for intervals in sets for interval in intervals]
    return union(members)


def _intervals(condition: kinds.Answer) -> list[kinds.Bracketed]:
    value = condition.value if isinstance(condition, kinds.Named) else condition
    intervals = []
    for member in value.members if isinstance(value, kinds.Union) else (value,):
        match member:
            case kinds.Bracketed(_, (_, _), _):
                intervals.append(member)
            case kinds.Expression():
                intervals.append(kinds.Bracketed("[", (member, member), "]"))
            case kinds.Collection(items):
                intervals += chain.from_iterable(map(_intervals, items))
            case _:
                raise Unreadable("a condition that is no interval")
    return intervals


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
