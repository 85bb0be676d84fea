"""Reads an answer as what it is; what it cannot read as a whole it refuses.

Here are the answers that hold others, so that all recursion is here: lists, sets, brackets and relations.
"""

import re
from contextlib import suppress
from functools import lru_cache

from pacs.rewards.answers import kinds, signs, values
from pacs.rewards.answers.bounds import MAX_ITEMS, TooMuch
from pacs.rewards.answers.brackets import depth, encloses, first, outside, split, split_at, unwrapped, with_thousands
from pacs.rewards.answers.evaluate import equal
from pacs.rewards.answers.expression import Variable, difference, variables
from pacs.rewards.answers.matrices import matrix
from pacs.rewards.answers.names import name_of
from pacs.rewards.answers.parse import parse_expression
from pacs.rewards.answers.reals import REALS, all_of, is_domain, is_real, without
from pacs.rewards.answers.refusals import Operation, Unreadable, refuse
from pacs.rewards.answers.tokens import Token, plain, tokenize
from pacs.rewards.answers.words import are_words, with_commands, with_modulus, words

#: Spaces that separate nothing. Letters and digits are kept apart; 10, 000 are two numbers, and 10,000 is one.
_NEEDLESS_SPACE = re.compile(r"(?<![a-zA-Z\d,]) | (?![a-zA-Z\d])|(?<=,) (?!\d{3}(?!\d))")


@lru_cache(maxsize=2**14)
def read(text: str) -> kinds.Answer:
    """What an answer is.

    Args:
        text: as `tokens.bare` leaves it.

    Raises:
        Unreadable: If it is nothing that is known here.
        TooMuch: If it is too long, too deep, or a number in it is too large.
    """
    text = with_modulus(plain(text))
    if are_words(text):
        return words(text)
    try:
        return _read(tokenize(with_commands(text)))
    except Operation as operation:
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


def _read(tokens: list[Token]) -> kinds.Answer:
    tokens = with_thousands(unwrapped(tokens))
    if not tokens:
        raise Unreadable("it is empty")
    if parts := split(tokens, signs.separates):
        return _single(tokens) if signs.leaves_out(parts) else _collection(tokens, parts)
    return _single(tokens)


def _single(tokens: list[Token]) -> kinds.Answer:
    """An answer that is no list."""
    if not tokens:
        raise Unreadable("an empty place")
    inner = tokens[1:-1] if encloses(tokens) and tokens[0].text == "(" else tokens
    if len(inner) == 1 and inner[0].kind == "words":
        return _of_words(inner[0].text)
    if encloses(tokens) and len(tokens) > 2 and tokens[1].text == "\\begin" and tokens[-2].text == "}":
        return matrix(tokens[1:-1], _read)
    if tokens[0].text == "\\begin":
        return matrix(tokens, _read)
    if any(token.text == "\\pmod" for token in tokens):
        return values.congruence(tokens)
    if any(token.text in signs.RELATIONS for token in outside(tokens)):
        return _relation(tokens)
    if members := split_at(tokens, "\\cup"):
        return kinds.Union(tuple(map(_read, members)))
    if sides := split_at(signs.with_difference(tokens), "\\setminus"):
        return _difference(*sides) if len(sides) == 2 else refuse("two signs of a difference")
    if encloses(tokens) and (bracketed := _bracketed(tokens)) is not None:
        return bracketed
    if terms := split_at(tokens, ":"):
        return values.ratio(tokens, terms)
    if numeral := values.numeral(tokens):
        return numeral
    if signs.has_two_signs(tokens):
        return kinds.Collection(tuple(_single(signs.with_sign(tokens, sign)) for sign in "+-"))
    texts = [token.text for token in tokens]
    if texts in (["\\mathbb", "{", "R", "}"], ["\\mathbb", "R"], ["\\R"]):
        return REALS
    if texts == ["\\emptyset"]:
        return kinds.Collection(())
    return values.expression(tokens)


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
    return words(inner)


def _collection(tokens: list[Token], parts: list[list[Token]]) -> kinds.Answer:
    """A list of answers, or what conditions on one variable come to.

    Args:
        tokens: all of them.
        parts: those between the separators.
    """
    if len(parts) > MAX_ITEMS:
        raise TooMuch(f"more than {MAX_ITEMS} answers")
    if not parts[0] or not parts[-1]:
        raise Unreadable("an empty place in a list")
    items: list[kinds.Answer] = []
    alternatives: list[list[kinds.Answer]] = [[]]  # what "or" signs.separates
    conditions = True
    for part, separator in zip(parts, [*filter(signs.separates, outside(tokens)), None], strict=True):
        if part:  # ", and" is one separator
            answer = _single(unwrapped(part))
            items += answer.items if isinstance(answer, kinds.Collection) and signs.has_two_signs(part) else [answer]
            conditions &= any(token.text in signs.CONDITIONS for token in outside(unwrapped(part)))
            alternatives[-1].append(answer)
        if separator is not None and signs.is_or(separator) and alternatives[-1]:
            alternatives.append([])
    named = [item for item in items if isinstance(item, kinds.Named)]
    if conditions and len(named) == len(items) > 1 and len({item.name for item in named}) == 1:
        return kinds.Named(named[0].name, all_of(alternatives))
    unknowns = {item.name.rpartition("_")[0] or item.name for item in named}
    if len(alternatives) > 1 and len(named) == len(items) and len(unknowns) > 1:
        return kinds.Union(tuple(items))  # x=1 or y=2 is no x=1, y=2
    return kinds.Collection(tuple(items))


def _bracketed(tokens: list[Token]) -> kinds.Answer | None:
    """What brackets around all of it hold; None for those of an expression."""
    opening, inner, closing = tokens[0].text, tokens[1:-1], tokens[-1].text
    if opening == "\\{" and closing == "\\}":
        if any(token.text in ("|", ":") for token in outside(inner)) and any(t.text in signs.RELATIONS for t in inner):
            return _set_builder(inner)
        if not inner:
            return kinds.Collection(())
        return _collection(inner, split(inner, signs.separates) or [inner])
    if opening == "\\langle" and closing == "\\rangle":
        opening, closing = "(", ")"
    if opening not in ("(", "[") or closing not in (")", "]"):
        return None
    items = split_at(inner, ",", ";")
    if items:
        if len(items) > MAX_ITEMS:
            raise TooMuch(f"more than {MAX_ITEMS} entries")
        return kinds.Bracketed(opening, tuple(_single(unwrapped(item)) for item in items), closing)
    return None if opening + closing in ("()", "[]") else refuse("brackets that do not match")


def _set_builder(tokens: list[Token]) -> kinds.Answer:
    """The numbers that meet conditions on one variable, as intervals."""
    (place,) = [k for k, token in enumerate(tokens) if token.text in ("|", ":") and not depth(tokens[:k])][:1]
    head, conditions = tokens[:place], split(tokens[place + 1 :], signs.separates) or [tokens[place + 1 :]]
    name = name_of(head[: first(head, "\\in")])
    kept = [part for part in conditions if not is_domain(part)]
    if name is None or (len(kept) != 1 and kept != conditions) or not is_real(head[first(head, "\\in") :]):
        raise Unreadable("a set by another rule than inequalities")
    answer = _read(tokens[place + 1 :] if kept == conditions else kept[0])
    if not isinstance(answer, kinds.Named) or answer.name != name:
        raise Unreadable("a set by another rule than one inequality of its variable")
    return answer.value


def _difference(left: list[Token], right: list[Token]) -> kinds.Answer:
    """Intervals, as a rule all real numbers, without some numbers."""
    missing = _read(right)
    if not isinstance(missing, kinds.Collection):
        raise Unreadable("a difference of other sets than intervals and numbers")
    return all_of([[_single(left), without(missing.items)]])


def _relation(tokens: list[Token]) -> kinds.Answer:
    found = [token.text for token in outside(tokens) if token.text in signs.RELATIONS]
    sides = split_at(tokens, *signs.RELATIONS)
    if found == ["\\approx"]:
        value = kinds.Approximation(_read(sides[-1]))
        if not sides[0]:
            return value
        return kinds.Named(name_of(sides[0]) or refuse("an approximation of no variable"), value)
    if not all(sides):
        raise Unreadable(f"one side of {found[0]!r} is missing")
    if len(found) == 1:
        return _two_sides(found[0], *sides)
    if (
        len(found) == 2
        and (found[0] in ("<", "\\le")) == (found[1] in ("<", "\\le"))
        and all(s in signs.FLIPPED for s in found)
    ):
        if found[0] in (">", "\\ge"):
            found, sides = [signs.FLIPPED[sign] for sign in reversed(found)], sides[::-1]
        name = name_of(sides[1]) or refuse("an inequality of two found about no variable")
        ends = kinds.Expression(parse_expression(sides[0])), kinds.Expression(parse_expression(sides[2]))
        return kinds.Named(name, kinds.Bracketed(signs.bracket(found[0], "(["), ends, signs.bracket(found[1], ")]")))
    raise Unreadable("relations that are not known here")


def _two_sides(sign: str, left: list[Token], right: list[Token]) -> kinds.Answer:
    name = name_of(left)
    if sign == "=" and name is not None and "+" in name and "+" not in (name_of(right) or "+"):
        left, right, name = right, left, name_of(right)  # a+b=x
    if sign in signs.FLIPPED and "+" in (name or name_of(right) or ""):
        name = None  # x+y>1 has the solutions of y+x>1
    elif name is None and sign not in ("\\in", "\\notin") and (name := name_of(right)) is not None:
        left, right, sign = right, left, signs.FLIPPED.get(sign, sign)
    if sign == "\\in":
        return kinds.Named(name or refuse("no variable before the sign for 'in'"), _read(right))
    if sign == "=" and name is not None and (value := _read(right)) != kinds.Expression(Variable(name)):
        return kinds.Named(name, value)
    if sign == "=":
        first, second = parse_expression(left), parse_expression(right)
        if variables(first) or variables(second):
            return kinds.Equation(difference(first, second))
        return _read(right) if equal(first, second) else refuse("a statement about numbers that is not true")
    if sign in ("\\ne", "\\notin"):
        missing = _read(right)
        if (sign == "\\notin") != encloses(right):
            raise Unreadable("a number as a set, or a set as a number")
        items = missing.items if isinstance(missing, kinds.Collection) else [missing]
        return kinds.Named(name or refuse("no variable before the sign for 'not equal'"), without(items))
    if sign not in signs.FLIPPED:
        raise Unreadable(f"{sign!r} is not known here")
    bound = parse_expression(right)
    if name is None or name in variables(bound):
        larger, smaller = (left, right) if sign in (">", "\\ge") else (right, left)
        return kinds.Inequality(
            difference(parse_expression(larger), parse_expression(smaller)), sign in ("\\le", "\\ge")
        )
    end, (low, high) = kinds.Expression(bound), REALS.items
    if sign in (">", "\\ge"):
        return kinds.Named(name, kinds.Bracketed(signs.bracket(sign, "(["), (end, high), ")"))
    return kinds.Named(name, kinds.Bracketed("(", (low, end), signs.bracket(sign, ")]")))
