"""Reads an answer with no other answer in it (a number with a unit, a ratio, a time, a numeral), and its name."""

import re
from collections.abc import Sequence
from fractions import Fraction

from pacs.rewards.answers import types
from pacs.rewards.answers.brackets import encloses, first, split_at
from pacs.rewards.answers.expression import MINUS_ONE, Degrees, Node, Number, Product, Variable, negative, variables
from pacs.rewards.answers.parse import parse_expression, parse_start
from pacs.rewards.answers.refusals import Unreadable
from pacs.rewards.answers.tokens import Token, joined
from pacs.rewards.answers.unit_words import CURRENCIES, is_common_unit, meridiem_of, unit_of

#: Left sides that are a name of the value asked for: points, the length of a segment |AB|, the area of a figure [ABC],
#: m+n, and the inverse of a function.
_NAME = re.compile(
    r"(?:m?\\angle|\\triangle)?([A-Z](?:[A-Z]|_\d|_\{\d+\})*|\|[A-Z]+\||\[[A-Z]+\]|[a-zA-Z](?:\+[a-zA-Z]){1,4}|[a-zA-Z]\^\{-1\}(?:\([a-z]\))?)"
)


def name_of(tokens: Sequence[Token]) -> str | None:
    r"""The name before a relation: x, x_1, f(x), AB, \\angle ABC, \\text{Area}; None if the tokens are no name."""
    texts = [token.text for token in tokens]
    if [token.kind for token in tokens] == ["words"]:
        return texts[0].strip().casefold() or None
    if encloses(tokens) and texts[0] == "(" and (parts := split_at(tokens[1:-1], ",", ";")):
        names = [name_of(part) for part in parts]
        return f"({','.join(filter(None, names))})" if all(names) else None
    if found := _NAME.fullmatch("".join(texts)):
        return re.sub(r"_\{(\d+)\}", r"_\1", found[1])
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
#: Behind degrees: 30' and 30'15''.
_MINUTES = re.compile(r"([0-5]?\d(?:\.\d+)?)'(?:([0-5]?\d(?:\.\d+)?)(?:''|\"))?")


def expression(tokens: list[Token]) -> types.Expression:
    """A number or a formula, with a currency before it, or a unit behind it."""
    sign = [token for token in tokens[:1] if token.text in ("-", "+")]
    unsigned = tokens[len(sign) :]
    currency = CURRENCIES.get(unsigned[0].text) if unsigned else None
    if currency is not None:
        tokens = sign + unsigned[1:]
    node, end = parse_start(tokens)
    if currency is not None:
        return types.Expression(node, _of_money(currency, tokens[end:]))
    if isinstance(node, Degrees):
        behind = "".join(token.text.strip() for token in tokens[end:])
        parts = _MINUTES.fullmatch(behind)
        if parts and isinstance(node.angle, Number) and not node.angle.decimal:
            minutes = Fraction(parts[1]) + Fraction(parts[2] or 0) / 60
            degrees = node.angle.value
            return types.Expression(Number(degrees + (-minutes if joined(sign) == "-" else minutes) / 60), "deg")
        if behind not in ("", "C", "F", "K"):
            raise Unreadable("something behind the degrees")
        return types.Expression(node.angle, f"deg {behind}".strip())
    if end == len(tokens):
        return _temperature(node) or types.Expression(node)
    found = unit_of(tokens[end:])
    if found is None or (variables(node) and not is_common_unit(found)):
        raise Unreadable(f"{tokens[end].text!r} is not expected")
    return types.Expression(node, found)


def _of_money(currency: str, behind: list[Token]) -> str:
    """The unit of an amount: its currency, with what it is paid for, as "per day" behind $12 says."""
    unit = unit_of(behind) if behind else ""
    if unit is None or not (unit in ("", currency) or unit[0] == "/"):
        raise Unreadable("something behind an amount of money")
    return f"{currency}·{unit}" if unit[:1] == "/" else currency


def _temperature(node: Node) -> types.Expression | None:
    r"""Degrees of a scale whose letter stands there as a variable: 25^\circ C."""
    factors = node.factors if isinstance(node, Product) else ()
    negated = factors[:1] == (MINUS_ONE,)
    match factors[negated:]:
        case (Degrees(angle), Variable("C" | "F" | "K" as scale)):
            return types.Expression(negative(angle) if negated else angle, f"deg {scale}")
    return None


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
