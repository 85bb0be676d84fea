"""Reads an answer with no other answer in it (a number with a unit, a ratio, a time, a numeral), and its name."""

import re
from collections.abc import Sequence

from pacs.rewards.answers import types
from pacs.rewards.answers.bounds import Unreadable
from pacs.rewards.answers.brackets import encloses, first, split_at
from pacs.rewards.answers.expression import MINUS_ONE, Degrees, Product, Variable, negative, variables
from pacs.rewards.answers.parse import parse_expression, parse_start
from pacs.rewards.answers.tokens import Token, joined
from pacs.rewards.answers.units import meridiem_of, unit_of

#: Left sides that are a name of the value asked for: m+n, and the inverse of a function.
_LETTERS_ADDED, _INVERSE = re.compile(r"[a-zA-Z](?:\+[a-zA-Z]){1,4}"), re.compile(r"[a-zA-Z]\^\{-1\}(?:\([a-z]\))?")


def name_of(tokens: Sequence[Token]) -> str | None:
    r"""The name before a relation: x, x_1, f(x), AB, \\angle ABC, \\text{Area}; None if the tokens are no name."""
    texts = [token.text for token in tokens]
    if [token.kind for token in tokens] == ["words"]:
        return texts[0].strip().casefold() or None
    if encloses(tokens) and texts[0] == "(" and (parts := split_at(tokens[1:-1], ",", ";")):
        names = [name_of(part) for part in parts]
        return f"({','.join(filter(None, names))})" if all(names) else None
    if texts[:1] == ["m"] and texts[1:2] == ["\\angle"]:
        texts = texts[1:]
    if texts and texts[0] in ("\\angle", "\\triangle"):
        texts = texts[1:]
    if len(texts) > 2 and (texts[0], texts[-1]) in (("|", "|"), ("[", "]")) and all(map(str.isupper, texts[1:-1])):
        return "".join(texts)  # the length of a segment, the area of a figure
    if _LETTERS_ADDED.fullmatch("".join(texts)) or _INVERSE.fullmatch("".join(texts)):
        return "".join(texts)
    if texts and all(text.isupper() and len(text) == 1 for text in texts):
        return "".join(texts)
    end = first(tokens, "(")
    if end < len(tokens) and not encloses(tokens[end:]):
        return None
    try:
        head = parse_expression(tokens[:end])
    except ValueError:
        return None
    return head.name + "".join(texts[end:]) if isinstance(head, Variable) else None


_NUMERAL = re.compile(r"(-?)\(?((?=[0-9A-Z]*[0-9])[0-9A-Z]+)\)?_\{?(\d{1,2})\}?")
_CLOCK = re.compile(r"(\d{1,2})((?::\d\d){1,2})")


def expression(tokens: list[Token]) -> types.Expression:
    """A number or a formula, with a currency before it, or a unit behind it."""
    sign = [token for token in tokens[:1] if token.text in ("-", "+")]
    rest = tokens[len(sign) :]
    if rest and rest[0].text in ("\\$", "$"):
        node = parse_expression(sign + rest[1:])
        return types.Expression(node, "$")
    node, end = parse_start(tokens)
    match node:
        case Product((factor, Degrees(angle))) if factor == MINUS_ONE:
            node = Degrees(negative(angle))
    if isinstance(node, Degrees):
        node, unit = node.angle, "deg"
        if end == len(tokens):
            return types.Expression(node, unit)
        behind = "".join(token.text.strip() for token in tokens[end:])
        if behind in ("C", "F", "K"):
            return types.Expression(node, f"deg {behind}")
        raise Unreadable("something behind the degrees")
    if end == len(tokens):
        return types.Expression(node)
    found = unit_of(tokens[end:])
    if found is None or variables(node):
        raise Unreadable(f"{tokens[end].text!r} is not expected")
    return types.Expression(node, found)


def congruence(tokens: list[Token]) -> types.Congruence:
    r"""A residue before \pmod, and what it is the residue of."""
    place = first(tokens, "\\pmod")
    sides = split_at(tokens[:place], "\\equiv") or [[], tokens[:place]]
    if len(sides) != 2 or (sides[0] and name_of(sides[0]) is None):
        raise Unreadable("a congruence of no variable")
    residue, modulus = parse_expression(sides[1]), parse_expression(tokens[place + 1 :])
    return types.Congruence(name_of(sides[0]), residue, modulus)


def numeral(tokens: list[Token]) -> types.Numeral | None:
    """A numeral of another base; None if the tokens are none."""
    if found := _NUMERAL.fullmatch(joined(tokens)):
        sign, digits, base = found[1], found[2], int(found[3])
        if 2 <= base <= 36 and all(int(digit, 36) < base for digit in digits):
            return types.Numeral(sign + (digits.lstrip("0") or "0"), base)
    return None


def ratio(tokens: list[Token], terms: list[list[Token]]) -> types.Time | types.Ratio:
    """A time of day if it can be one, else a ratio.

    Args:
        tokens: all of them.
        terms: those between the colons.
    """
    behind = _without_braces(terms[-1][1:])
    meridiem = meridiem_of(joined(behind)) if behind else None
    clock = _CLOCK.fullmatch(joined(_without_braces(tokens[: -len(terms[-1]) + 1] if meridiem else tokens)))
    if clock and (meridiem or not behind):
        numbers = (int(clock[1]), *map(int, clock[2][1:].split(":")))
        if all(number < 60 for number in numbers[1:]) and numbers[0] < 25:
            return types.Time(numbers, meridiem)
    return types.Ratio(tuple(types.Expression(parse_expression(term)) for term in terms))


def _without_braces(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.text not in ("{", "}")]
