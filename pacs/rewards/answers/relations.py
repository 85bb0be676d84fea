"""Reads relations: what a variable is, or is in; equations, and inequalities of several variables."""

import re
from collections.abc import Callable

from pacs.rewards.answers import signs, types
from pacs.rewards.answers.brackets import encloses, outside, split_at
from pacs.rewards.answers.expression import Variable, difference, variables
from pacs.rewards.answers.expression_values import equal
from pacs.rewards.answers.parse import parse_expression
from pacs.rewards.answers.reals import all_of, both_of_size, half_line, of_size, without
from pacs.rewards.answers.refusals import Unreadable, refuse
from pacs.rewards.answers.scalars import name_of
from pacs.rewards.answers.tokens import Token, joined

#: Reads an answer that is a part of another one.
Reader = Callable[[list[Token]], types.Answer]
#: A name of several letters: a length AB, or an abbreviation.
_CAPITALS = re.compile("[A-Z]{2,}")


def relation(tokens: list[Token], read: Reader) -> types.Answer:
    """What relations between two sides or three say.

    Args:
        tokens: of an answer with a relation outside brackets.
        read: reads a side.

    Raises:
        Unreadable: If it is no relation that is known here.
    """
    found = [token.text for token in outside(tokens) if token.text in signs.RELATIONS]
    sides = split_at(tokens, *signs.RELATIONS)
    if found == ["\\approx"]:
        value = types.Approximation(read(sides[-1]))
        if not sides[0]:
            return value
        return types.Named(name_of(sides[0]) or refuse("an approximation of no variable"), value)
    if not all(sides):
        raise Unreadable(f"one side of {found[0]!r} is missing")
    if len(found) == 1:
        return _two_sides(found[0], sides[0], sides[1], read)
    upwards = {sign in ("<", "\\le") for sign in found}
    if len(found) == 2 and len(upwards) == 1 and signs.FLIPPED.keys() >= set(found):
        if found[0] in (">", "\\ge"):
            found, sides = [signs.FLIPPED[sign] for sign in reversed(found)], sides[::-1]
        ends = types.Expression(parse_expression(sides[0])), types.Expression(parse_expression(sides[2]))
        if name := _sized(sides[1]):
            sizes = of_size(signs.FLIPPED[found[0]], ends[0]), of_size(found[1], ends[1])
            return types.Named(name, all_of([sizes]))
        name = name_of(sides[1]) or refuse("an inequality of two found about no variable")
        return types.Named(name, types.Bracketed(signs.bracket(found[0], "(["), ends, signs.bracket(found[1], ")]")))
    raise Unreadable("relations that are not known here")


def _two_sides(sign: str, left: list[Token], right: list[Token], read: Reader) -> types.Answer:
    name = name_of(left)
    if sign == "=" and (names := [_CAPITALS.fullmatch(joined(side).strip()) for side in (left, right)]) and all(names):
        return types.Equation(difference(*(Variable(side[0]) for side in names if side)))  # MR=MC, which is MC=MR
    if sign == "=" and name is not None and "+" in name and "+" not in (name_of(right) or "+"):
        left, right, name = right, left, name_of(right)  # a+b=x
    if sign in signs.FLIPPED and "+" in (name or name_of(right) or ""):
        name = None  # x+y>1 has the solutions of y+x>1
    elif name is None and sign not in ("\\in", "\\notin") and (name := name_of(right)) is not None:
        left, right, sign = right, left, signs.FLIPPED.get(sign, sign)
    if sign == "\\in":
        return types.Named(name or refuse("no variable before the sign for 'in'"), read(right))
    if sign == "=" and name is not None and (value := read(right)) != types.Expression(Variable(name)):
        return types.Named(name, value)
    if sign == "=":
        first, second = parse_expression(left), parse_expression(right)
        if variables(first) or variables(second):
            return types.Equation(difference(first, second))
        return read(right) if equal(first, second) else refuse("a statement about numbers that is not true")
    if sign in ("\\ne", "\\notin"):
        missing = read(right)
        if (sign == "\\notin") != encloses(right):
            raise Unreadable("a number as a set, or a set as a number")
        items = list(missing.items) if isinstance(missing, types.Collection) else [missing]
        if (sized := _sized(left)) and len(items) == 1:
            name, items = sized, both_of_size(items[0])
        return types.Named(name or refuse("no variable before the sign for 'not equal'"), without(items))
    if sign not in signs.FLIPPED:
        raise Unreadable(f"{sign!r} is not known here")
    if _sized(right):
        left, right, sign = right, left, signs.FLIPPED[sign]
    bound = parse_expression(right)
    if (sized := _sized(left)) and not variables(bound):
        return types.Named(sized, of_size(sign, types.Expression(bound)))
    if name is None or name in variables(bound):
        larger, smaller = (left, right) if sign in (">", "\\ge") else (right, left)
        return types.Inequality(
            difference(parse_expression(larger), parse_expression(smaller)), sign in ("\\le", "\\ge")
        )
    return types.Named(name, half_line(sign, types.Expression(bound)))


def _sized(tokens: list[Token]) -> str | None:
    """The variable of whose absolute value a relation speaks; None if it is none, or complex as z and w are."""
    if len(tokens) < 3 or tokens[0].text != "|" or tokens[-1].text != "|":
        return None
    name = name_of(tokens[1:-1])
    return name if name and name.islower() and name[0] not in "zw" else None
