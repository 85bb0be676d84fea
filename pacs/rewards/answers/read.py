"""Reads an answer as what it is; what it cannot read as a whole it refuses."""

import re
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Final, NoReturn

from pacs.rewards.answers import kinds, parse
from pacs.rewards.answers.bounds import MAX_ITEMS, TooMuch
from pacs.rewards.answers.brackets import depth, encloses, outside, split, unwrapped, with_thousands
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.expression import Constant, Degrees, Node, Number, Sum, Variable, negative, variables
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.parse import Unreadable, parse_expression, parse_start
from pacs.rewards.answers.tokens import Token, plain, tokenize
from pacs.rewards.answers.units import is_word_unit, meridiem_of, unit_of

_RELATIONS: Final = frozenset(["=", "<", ">", "\\le", "\\ge", "\\ne", "\\in", "\\equiv", "\\approx"])
_FLIPPED: Final = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}
_MATRICES: Final = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix"])
_DETERMINANTS: Final = frozenset(["vmatrix", "Vmatrix"])

#: Of three letters or fewer, and no products.
_SHORT_WORDS: Final = frozenset(["yes", "no", "odd", "all", "one", "two", "six", "ten", "dne"])
_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS: Final = _NUMBERS.split()
_INFINITY: Final = Constant("infinity")
_REALS: Final = kinds.Bracketed("(", (kinds.Expression(negative(_INFINITY)), kinds.Expression(_INFINITY)), ")")
#: "or" and "and" between answers, and "mod 7" in its ways of being written.
_CONJUNCTION = re.compile(r"(\\[a-zA-Z]+\s*\{[^{}]*\})|(?<![a-zA-Z\\])(or|and)(?![a-zA-Z])")
#: Words that stand in no command: five letters in a row are no product.
_PROSE = re.compile(r"(?<![a-zA-Z])(?:[a-zA-Z]{5,}|if|for|when|with|not|then|than|only|such|that|but)(?![a-zA-Z])")
_COMMAND = re.compile(
    r"\\(?:begin|end|operatorname|mathrm|[a-z]*text[a-z]*|[a-z]*box)\*?\s*\{[^{}]*\}|\\[a-zA-Z]+|_\{[^{}]*\}"
)
_MODULUS = re.compile(
    r"\(\s*(?:\\(?:text|mathrm|operatorname)\s*\{\s*mod\s*\}|\\?b?mod(?![a-zA-Z]))\s*([^()]+)\)|\\pmod\s*(?![\s{])(\d+|[a-z])"
)
#: Not a product of letters: capitals alone (AB), or words of which one has three letters that are no abbreviation.
_BARE_WORDS = re.compile(r"[A-Z]{2,}|(?=.*[A-Za-z]{3})[A-Za-z']{2,}(?:[ -](?![ -])[A-Za-z']+)*\.?|[A-Z][a-z]+\.?")
_WORD_UNIT = re.compile(r"(.*[\d})])\s*((?<=\s)[a-zA-Z].*|%|\\%|(?<=\d)[a-zA-Z]{2,})", re.S)
_NUMERAL = re.compile(r"(-?)\(?((?=[0-9A-Z]*[0-9])[0-9A-Z]+)\)?_\{?(\d{1,2})\}?")
#: Spaces that separate nothing. Letters and digits are kept apart; 10, 000 are two numbers, and 10,000 is one.
_NEEDLESS_SPACE = re.compile(r"(?<![a-zA-Z\d,]) | (?![a-zA-Z\d])|(?<=,) (?!\d{3}(?!\d))")
#: Left sides that are a name of the value asked for: m+n, and the inverse of a function.
_LETTERS_ADDED, _INVERSE = re.compile(r"[a-zA-Z](?:\+[a-zA-Z]){1,4}"), re.compile(r"[a-zA-Z]\^\{-1\}(?:\([a-z]\))?")
_CLOCK = re.compile(r"(\d{1,2})((?::\d\d){1,2})")


@lru_cache(maxsize=2**14)
def read(text: str) -> kinds.Answer:
    """What an answer is.

    Args:
        text: as `tokens.bare` leaves it.

    Raises:
        Unreadable: If it is nothing that is known here.
        TooMuch: If it is too long, too deep, or a number in it is too large.
    """
    text = _MODULUS.sub(lambda found: f"\\pmod{{{found[1] or found[2]}}}", plain(text))
    if text in _SHORT_WORDS or (_BARE_WORDS.fullmatch(text) and (len(text) > 3 or not text.islower())):
        return _words(text)
    if (unit := _WORD_UNIT.fullmatch(text)) and is_word_unit(unit[2]):
        text = f"{unit[1]}\\text{{{unit[2]}}}"
    if prose := _PROSE.search(_COMMAND.sub(" ", text)):
        raise Unreadable(f"the word {prose[0]!r} within it")
    try:
        return _read(tokenize(_CONJUNCTION.sub(lambda found: found[1] or f"\\text{{{found[2]}}}", text)))
    except parse.Operation as operation:
        return kinds.Operation(str(operation))
    except RecursionError:
        raise TooMuch("nested too deeply") from None


def key_of(text: str) -> str:
    r"""The text of an answer, one for those that differ in `\text{...}`, `\left`, spaces and the like alone."""
    pieces = [
        f" {token.text} " if token.kind == "words" else f"{' ' * token.space}{token.text}"
        for token in tokenize(plain(text))
    ]
    return _NEEDLESS_SPACE.sub("", " ".join("".join(pieces).split()))


def _words(text: str) -> kinds.Answer:
    text = " ".join(text.split()).strip(" .")
    if text.casefold() in _NUMBER_WORDS:
        return kinds.Expression(Number(Fraction(_NUMBER_WORDS.index(text.casefold()))))
    return kinds.Words(text if text.isupper() else text.casefold())


def _read(tokens: list[Token]) -> kinds.Answer:
    tokens = with_thousands(unwrapped(tokens))
    if not tokens:
        raise Unreadable("it is empty")
    if parts := split(tokens, _separates):
        return _collection(parts)
    return _single(tokens)


def _single(tokens: list[Token]) -> kinds.Answer:
    """An answer that is no list."""
    if not tokens:
        raise Unreadable("an empty place")
    inner = tokens[1:-1] if encloses(tokens) and tokens[0].text == "(" else tokens
    if len(inner) == 1 and inner[0].kind == "words":
        return _of_words(inner[0].text)
    if encloses(tokens) and len(tokens) > 2 and tokens[1].text == "\\begin" and tokens[-2].text == "}":
        return _matrix(tokens[1:-1])
    if tokens[0].text == "\\begin":
        return _matrix(tokens)
    if any(token.text == "\\pmod" for token in tokens):
        return _congruence(tokens)
    if any(token.text in _RELATIONS for token in outside(tokens)):
        return _relation(tokens)
    if members := split(tokens, lambda token: token.text == "\\cup"):
        return kinds.Union(tuple(map(_read, members)))
    if sides := split(tokens, lambda token: token.text == "\\setminus"):
        return _difference(*sides) if len(sides) == 2 else _refuse("two signs of a difference")
    if encloses(tokens) and (bracketed := _bracketed(tokens)) is not None:
        return bracketed
    if terms := split(tokens, lambda token: token.text == ":"):
        return _ratio(tokens, terms)
    if numeral := _NUMERAL.fullmatch("".join(token.text for token in tokens)):
        sign, digits, base = numeral[1], numeral[2], int(numeral[3])
        if 2 <= base <= 36 and all(int(digit, 36) < base for digit in digits):
            return kinds.Numeral(sign + (digits.lstrip("0") or "0"), base)
    if any(token.text in ("\\pm", "\\mp") for token in tokens):
        return kinds.Collection(tuple(_single(_with_sign(tokens, sign)) for sign in "+-"))
    if [token.text for token in tokens] in (["\\mathbb", "{", "R", "}"], ["\\mathbb", "R"], ["\\R"]):
        return _REALS
    if [token.text for token in tokens] == ["\\emptyset"]:
        return kinds.Collection(())
    return _expression(tokens)


def _expression(tokens: list[Token]) -> kinds.Expression:
    """With a currency before it, or a unit behind it."""
    sign = [token for token in tokens[:1] if token.text in ("-", "+")]
    rest = tokens[len(sign) :]
    if rest and rest[0].text in ("\\$", "$"):
        node = parse_expression(sign + rest[1:])
        return kinds.Expression(node, "$")
    node, end = parse_start(tokens)
    if isinstance(node, Degrees):
        node, unit = node.angle, "deg"
        if end == len(tokens):
            return kinds.Expression(node, unit)
        behind = "".join(token.text.strip() for token in tokens[end:])
        if behind in ("C", "F", "K"):
            return kinds.Expression(node, f"deg {behind}")
        raise Unreadable("something behind the degrees")
    if end == len(tokens):
        return kinds.Expression(node)
    found = unit_of(tokens[end:])
    if found is None or variables(node):
        raise Unreadable(f"{tokens[end].text!r} is not expected")
    return kinds.Expression(node, found)


def _of_words(text: str) -> kinds.Answer:
    r"""What stands in a \text{...} around all."""
    inner = text.strip().rstrip(".")
    letter = re.fullmatch(r"\(?([A-Za-z])\)?", inner)
    if letter:
        return kinds.Expression(Variable(letter[1]))
    if any(map(str.isdigit, inner)) or re.fullmatch(r"[A-Z](\s*,\s*(and )?[A-Z])+", inner):
        with suppress(Unreadable):
            return read(inner)
    if not inner:
        raise Unreadable("it is empty")
    return _words(inner)


def _collection(parts: list[list[Token]]) -> kinds.Collection:
    if len(parts) > MAX_ITEMS:
        raise TooMuch(f"more than {MAX_ITEMS} answers")
    items: list[kinds.Answer] = []
    if not parts[0] or not parts[-1]:
        raise Unreadable("an empty place in a list")
    for part in filter(None, parts):  # ", and" is one separator
        answer = _single(unwrapped(part))
        items += (
            answer.items
            if isinstance(answer, kinds.Collection) and any(t.text in ("\\pm", "\\mp") for t in part)
            else [answer]
        )
    return kinds.Collection(tuple(items))


def _bracketed(tokens: list[Token]) -> kinds.Answer | None:
    """What brackets around all of it hold; None for those of an expression."""
    opening, inner, closing = tokens[0].text, tokens[1:-1], tokens[-1].text
    if opening == "\\{" and closing == "\\}":
        if any(token.text in ("|", ":") for token in outside(inner)) and any(t.text in _RELATIONS for t in inner):
            return _set_builder(inner)
        if not inner:
            return kinds.Collection(())
        items = split(inner, _separates) or [inner]
        return _collection(items)
    if opening == "\\langle" and closing == "\\rangle":
        opening, closing = "(", ")"
    if opening not in ("(", "[") or closing not in (")", "]"):
        return None
    items = split(inner, lambda token: token.text in (",", ";"))
    if items:
        if len(items) > MAX_ITEMS:
            raise TooMuch(f"more than {MAX_ITEMS} entries")
        return kinds.Bracketed(opening, tuple(_single(unwrapped(item)) for item in items), closing)
    if (opening, closing) in (("(", ")"), ("[", "]")):
        return None
    raise Unreadable("brackets that do not match")


def _set_builder(tokens: list[Token]) -> kinds.Answer:
    """The numbers of one inequality, as an interval."""
    (place,) = [k for k, token in enumerate(tokens) if token.text in ("|", ":") and not depth(tokens[:k])][:1]
    head, conditions = tokens[:place], split(tokens[place + 1 :], _separates) or [tokens[place + 1 :]]
    name = _name(head[: _first(head, "\\in")])
    kept = [part for part in conditions if not _is_domain(part)]
    if name is None or len(kept) != 1 or not _is_real(head[_first(head, "\\in") :]):
        raise Unreadable("a set by another rule than one inequality")
    answer = _relation(kept[0])
    if not isinstance(answer, kinds.Named) or answer.name != name:
        raise Unreadable("a set by another rule than one inequality of its variable")
    return answer.value


def _first(tokens: Sequence[Token], text: str) -> int:
    return next((k for k, token in enumerate(tokens) if token.text == text), len(tokens))


def _is_real(tokens: Sequence[Token]) -> bool:
    """Whether these say nothing, or that it is a real number."""
    return "".join(token.text for token in tokens) in ("", "\\in\\mathbb{R}", "\\in\\R", "\\inR")


def _is_domain(tokens: Sequence[Token]) -> bool:
    return any(token.text == "\\in" for token in tokens) and _is_real(tokens[_first(tokens, "\\in") :])


def _difference(left: list[Token], right: list[Token]) -> kinds.Answer:
    """The real numbers without some."""
    without = _read(right)
    if _single(left) != _REALS or not isinstance(without, kinds.Collection):
        raise Unreadable("a difference of other sets than the real numbers and some of them")
    return _without(without.items)


def _without(items: Sequence[kinds.Answer]) -> kinds.Answer:
    """The intervals between numbers that are left out."""
    nodes = [item.node if isinstance(item, kinds.Expression) else _refuse("a number is missing") for item in items]
    try:
        in_order = sorted(nodes, key=lambda node: float(Field(None).value(node, {})))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError, NoValue):
        raise Unreadable("what is left out are no real numbers") from None
    ends = [_REALS.items[0], *map(kinds.Expression, in_order), _REALS.items[1]]
    return kinds.Union(tuple(kinds.Bracketed("(", (a, b), ")") for a, b in pairwise(ends)))


def _relation(tokens: list[Token]) -> kinds.Answer:
    signs = [token.text for token in outside(tokens) if token.text in _RELATIONS]
    sides = split(tokens, lambda token: token.text in _RELATIONS)
    if signs == ["\\approx"]:
        value = kinds.Approximation(_read(sides[-1]))
        if not sides[0]:
            return value
        return kinds.Named(_name(sides[0]) or _refuse("an approximation of no variable"), value)
    if not all(sides):
        raise Unreadable(f"one side of {signs[0]!r} is missing")
    if len(signs) == 1:
        return _two_sides(signs[0], *sides)
    if (
        len(signs) == 2
        and (signs[0] in ("<", "\\le")) == (signs[1] in ("<", "\\le"))
        and all(s in _FLIPPED for s in signs)
    ):
        if signs[0] in (">", "\\ge"):
            signs, sides = [_FLIPPED[sign] for sign in reversed(signs)], sides[::-1]
        name = _name(sides[1]) or _refuse("an inequality of two signs about no variable")
        ends = kinds.Expression(parse_expression(sides[0])), kinds.Expression(parse_expression(sides[2]))
        return kinds.Named(name, kinds.Bracketed(_bracket(signs[0], "(["), ends, _bracket(signs[1], ")]")))
    raise Unreadable("relations that are not known here")


def _bracket(sign: str, brackets: str) -> str:
    return brackets[sign in ("\\le", "\\ge")]


def _two_sides(sign: str, left: list[Token], right: list[Token]) -> kinds.Answer:
    name = _name(left)
    if name is None and sign != "\\in" and (name := _name(right)) is not None:
        left, right, sign = right, left, _FLIPPED.get(sign, sign)
    if sign == "\\in":
        return kinds.Named(name or _refuse("no variable before the sign for 'in'"), _read(right))
    if sign == "=" and name is not None and (value := _read(right)) != kinds.Expression(Variable(name)):
        return kinds.Named(name, value)
    if sign == "=":
        return kinds.Equation(_minus(parse_expression(left), parse_expression(right)))
    if sign == "\\ne":
        without = _read(right)
        items = without.items if isinstance(without, kinds.Collection) else [without]
        return kinds.Named(name or _refuse("no variable before the sign for 'not equal'"), _without(items))
    if sign not in _FLIPPED:
        raise Unreadable(f"{sign!r} is not known here")
    bound = parse_expression(right)
    if name is None or name in variables(bound):
        larger, smaller = (left, right) if sign in (">", "\\ge") else (right, left)
        return kinds.Inequality(_minus(parse_expression(larger), parse_expression(smaller)), sign in ("\\le", "\\ge"))
    end, (low, high) = kinds.Expression(bound), _REALS.items
    if sign in (">", "\\ge"):
        return kinds.Named(name, kinds.Bracketed(_bracket(sign, "(["), (end, high), ")"))
    return kinds.Named(name, kinds.Bracketed("(", (low, end), _bracket(sign, ")]")))


def _congruence(tokens: list[Token]) -> kinds.Answer:
    place = _first(tokens, "\\pmod")
    sides = split(tokens[:place], lambda token: token.text == "\\equiv") or [[], tokens[:place]]
    if len(sides) != 2 or (sides[0] and _name(sides[0]) is None):
        raise Unreadable("a congruence of no variable")
    residue, modulus = parse_expression(sides[1]), parse_expression(tokens[place + 1 :])
    return kinds.Congruence(_name(sides[0]), residue, modulus)


def _ratio(tokens: list[Token], terms: list[list[Token]]) -> kinds.Answer:
    behind = [token for token in terms[-1][1:] if token.text not in ("{", "}")]
    meridiem = meridiem_of("".join(token.text for token in behind)) if behind else None
    clock = _CLOCK.fullmatch(
        "".join(t.text for t in (tokens[: -len(terms[-1]) + 1] if meridiem else tokens) if t.text not in "{}")
    )
    if clock and (meridiem or not behind):
        numbers = (int(clock[1]), *map(int, clock[2][1:].split(":")))
        if all(number < 60 for number in numbers[1:]) and numbers[0] < 25:
            return kinds.Time(numbers, meridiem)
    return kinds.Ratio(tuple(kinds.Expression(parse_expression(term)) for term in terms))


def _matrix(tokens: list[Token]) -> kinds.Answer:
    environment = "".join(token.text for token in tokens[1 : _first(tokens, "}")]).strip("{")
    if environment in _DETERMINANTS:
        raise parse.Operation("det")
    inner = tokens[_first(tokens, "}") + 1 : len(tokens) - 1 - _first(tokens[::-1], "\\end")]
    ending = "".join(token.text for token in tokens[len(tokens) - 1 - _first(tokens[::-1], "\\end") :])
    if environment == "array" and inner and inner[0].text == "{":
        inner = inner[_first(inner, "}") + 1 :]
    if environment not in _MATRICES | {"array"} or ending != f"\\end{{{environment}}}":
        raise Unreadable(f"an environment {environment!r}")
    rows = [row for row in split(inner, lambda token: token.text == "\\\\") or [inner] if row]
    cells = tuple(tuple(_read(cell) for cell in split(row, lambda token: token.text == "&") or [row]) for row in rows)
    if not cells or len({len(row) for row in cells}) > 1 or sum(map(len, cells)) > MAX_ITEMS:
        raise Unreadable("rows of a matrix that are not alike")
    return kinds.Matrix(cells)


def _minus(left: Node, right: Node) -> Node:
    return left if right == Number(Fraction(0)) else Sum((left, negative(right)))


def _with_sign(tokens: Sequence[Token], sign: str) -> list[Token]:
    other = {"+": "-", "-": "+"}[sign]
    choice = {"\\pm": sign, "\\mp": other}
    return [
        token._replace(kind="other", text=choice[token.text]) if token.text in choice else token for token in tokens
    ]


def _name(tokens: Sequence[Token]) -> str | None:
    r"""The name before a relation: x, x_1, f(x), AB, \\angle ABC, \\text{Area}; None if the tokens are no name."""
    texts = [token.text for token in tokens]
    if [token.kind for token in tokens] == ["words"]:
        return texts[0].strip().casefold() or None
    if encloses(tokens) and texts[0] == "(" and (names := split(tokens[1:-1], lambda token: token.text == ",")):
        return "".join(texts) if all(map(_name, names)) else None
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
    end = _first(tokens, "(")
    if end < len(tokens) and not encloses(tokens[end:]):
        return None
    try:
        head = parse_expression(tokens[:end])
    except ValueError:
        return None
    return head.name + "".join(texts[end:]) if isinstance(head, Variable) else None


def _separates(token: Token) -> bool:
    return token.text in (",", ";", "\\lor", "\\land") or (
        token.kind == "words" and token.text.strip(" ,").lower() in ("or", "and", "")
    )


def _refuse(why: str) -> NoReturn:
    raise Unreadable(why)
