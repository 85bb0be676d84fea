"""Reads an answer as what it is; what it cannot read as a whole it refuses.

Here are the answers that hold others, so that all recursion is here: lists, sets, brackets and relations.
"""

import re
from contextlib import suppress
from functools import lru_cache

from pacs.rewards.answers import scalars, signs, types
from pacs.rewards.answers.brackets import depths, encloses, first, outside, split, split_at, unwrapped, with_thousands
from pacs.rewards.answers.derivatives import with_primes
from pacs.rewards.answers.expression import Variable
from pacs.rewards.answers.matrices import matrix, pieces, system
from pacs.rewards.answers.reals import all_of, is_domain, is_real, named_set, union, without
from pacs.rewards.answers.refusals import MAX_ITEMS, Operation, TooMuch, Unreadable, refuse
from pacs.rewards.answers.relations import relation
from pacs.rewards.answers.scalars import name_of
from pacs.rewards.answers.tokens import Token, joined, plain, tokenize
from pacs.rewards.answers.unknowns import named_apart, together
from pacs.rewards.answers.words import are_words, with_commands, with_modulus, with_signs, without_domain, words

#: Spaces that separate nothing. Letters and digits are kept apart; 10, 000 are two numbers, and 10,000 is one.
_NEEDLESS_SPACE = re.compile(r"(?<![a-zA-Z\d,]) | (?![a-zA-Z\d])|(?<=,) (?!\d{3}(?!\d))")

#: Letters of choices: A, (C) and (E).
_LETTERS = re.compile(r"\(?[A-Z]\)?((\s*,\s*(and\s+)?|\s+and\s+)\(?[A-Z]\)?)+")
#: No sum and no quotient: as one, 2024-01-02 would be 2024-02-01.
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?/\d\d?/\d{4}")


@lru_cache(maxsize=2**14)
def read(text: str) -> types.Answer:
    """What an answer is.

    Args:
        text: as `tokens.bare` leaves it.

    Raises:
        Unreadable: If it is nothing that is known here.
        TooMuch: If it is too long, too deep, or a number in it is too large.
    """
    text = with_primes(without_domain(with_signs(with_modulus(plain(text)))))
    if are_words(text) or _DATE.fullmatch(text):
        return words(text)
    try:
        return _read(tokenize(with_commands(text)))
    except Operation as operation:
        return types.Operation(str(operation))
    except RecursionError:
        raise TooMuch("nested too deeply") from None


def key_of(text: str) -> str:
    r"""The text of an answer, one for those that differ in `\text{...}`, `\left`, spaces and the like alone."""
    pieces = [
        f" {token.text} " if token.kind == "words" else f"{' ' * token.space}{token.text}"
        for token in tokenize(plain(text))
    ]
    return _NEEDLESS_SPACE.sub("", " ".join("".join(pieces).split()))


def _read(tokens: list[Token]) -> types.Answer:
    tokens = with_thousands(unwrapped(tokens))
    parts = split(tokens, signs.separates)
    return _collection(tokens, parts) if parts and not signs.leaves_out(parts) else _single(tokens)


def _single(tokens: list[Token]) -> types.Answer:
    """An answer that is no list."""
    if not tokens:
        raise Unreadable("an empty place")
    if lines := system(tokens):
        return _read(lines)
    if cases := pieces(tokens, _read):
        return cases
    inner = tokens[1:-1] if encloses(tokens) and tokens[0].text == "(" else tokens
    if len(inner) == 1 and inner[0].kind == "words":
        return _of_words(inner[0].text)
    if encloses(tokens) and len(tokens) > 2 and tokens[1].text == "\\begin" and tokens[-2].text == "}":
        return matrix(tokens[1:-1], _read)
    if tokens[0].text == "\\begin":
        return matrix(tokens, _read)
    if any(token.text == "\\pmod" for token in tokens):
        return scalars.congruence(tokens)
    members = split_at(tokens, "\\cup")
    if any(token.text in signs.RELATIONS for token in outside(tokens)):
        if members and all(any(token.text in signs.RELATIONS for token in outside(part)) for part in members):
            return _collection(signs.replaced(tokens, "words", {"\\cup": "or"}), members)  # x<1 \\cup x>2
        return relation(tokens, _read)
    if members:
        return union(list(map(_read, members)))
    if sides := split_at(tokens, "\\setminus"):
        return _difference(*sides) if len(sides) == 2 else refuse("two signs of a difference")
    if encloses(tokens) and not signs.are_opposed(tokens) and (bracketed := _bracketed(tokens)) is not None:
        return bracketed
    if terms := split_at(tokens, ":"):
        return scalars.ratio(tokens, terms)
    if numeral := scalars.numeral(tokens):
        return numeral
    if signs.has_two_signs(tokens):
        both = [signs.replaced(tokens, "other", {"\\pm": sign, "\\mp": other}) for sign, other in ("+-", "-+")]
        return types.Collection(tuple(map(_single, both)))
    if (named := named_set(tokens)) is not None:
        return named
    if joined(tokens) == "\\emptyset":
        return types.Collection(())
    return scalars.expression(tokens)


def _of_words(text: str) -> types.Answer:
    r"""What stands in a \text{...} around all."""
    inner = text.strip().rstrip(".")
    letter = re.fullmatch(r"\(?([A-Za-z])\)?", inner)
    if letter:
        return types.Expression(Variable(letter[1]))
    if any(map(str.isdigit, inner)) or _LETTERS.fullmatch(inner):
        with suppress(Unreadable):
            return read(inner)
    if not inner:
        raise Unreadable("it is empty")
    return words(inner)


def _collection(tokens: list[Token], parts: list[list[Token]]) -> types.Answer:
    """A list of answers, or what conditions on one variable come to.

    Args:
        tokens: all of them.
        parts: those between the separators.
    """
    if len(parts) > MAX_ITEMS:
        raise TooMuch(f"more than {MAX_ITEMS} answers")
    if not parts[0] or not parts[-1]:
        raise Unreadable("an empty place in a list")
    items: list[types.Answer] = []
    alternatives: list[list[types.Answer]] = [[]]  # what "or" separates
    has_commas = any(token.text == "," for token in outside(tokens))
    found: list[str] = []  # the first relation of each, and "" where there is none
    for part, separator in zip(parts, [*filter(signs.separates, outside(tokens)), None], strict=True):
        if part:  # ", and" is one separator
            answer = _single(unwrapped(part))
            items += _both(answer) if signs.has_two_signs(part) else [answer]
            found.append(next((token.text for token in outside(unwrapped(part)) if token.text in signs.RELATIONS), ""))
            alternatives[-1].append(answer)
        begins = separator is not None and (signs.is_or(separator) or (separator.text == ";" and has_commas))
        if begins and alternatives[-1]:
            alternatives.append([])
    named = [item for item in items if isinstance(item, types.Named)]
    if signs.are_conditions(found) and len(named) == len(items) > 1 and len({item.name for item in named}) == 1:
        logical = any(token.text == "\\land" for token in outside(tokens))
        return types.Named(named[0].name, all_of(alternatives, logical=logical))
    if len(named) == len(items) and (several := together(named, alternatives)):
        return several
    return types.Collection(tuple(items), len(alternatives) == 1 and len(items) == len(found))


def _both(answer: types.Answer) -> list[types.Answer]:
    r"""The two answers that \pm and \mp make of one, of the same name: x = \pm 2."""
    match answer:
        case types.Collection(items):
            return list(items)
        case types.Named(name, types.Collection(items)):
            return [types.Named(name, item) for item in items]
    return [answer]


def _bracketed(tokens: list[Token]) -> types.Answer | None:
    """What brackets around all of it hold; None for those of an expression."""
    opening, inner, closing = tokens[0].text, tokens[1:-1], tokens[-1].text
    if opening == "\\{" and closing == "\\}":
        if any(token.text in ("|", ":") for token in outside(inner)) and any(t.text in signs.RELATIONS for t in inner):
            return _set_builder(inner)
        if not inner:
            return types.Collection(())
        members = _collection(inner, split(inner, signs.separates) or [inner])
        return types.Collection(members.items) if isinstance(members, types.Collection) else members
    if opening not in ("(", "[") or closing not in (")", "]"):
        return None
    items = split_at(inner, ",", ";")
    if items:
        if len(items) > MAX_ITEMS:
            raise TooMuch(f"more than {MAX_ITEMS} entries")
        entries = tuple(_single(unwrapped(item)) for item in items)
        return types.Collection(entries) if named_apart(entries) else types.Bracketed(opening, entries, closing)
    return None if opening + closing in ("()", "[]") else refuse("brackets that do not match")


def _set_builder(tokens: list[Token]) -> types.Answer:
    """The numbers that meet conditions on one variable, as intervals."""
    place = next(
        k
        for k, (token, depth) in enumerate(zip(tokens, depths(tokens), strict=True))
        if not depth and token.text in ("|", ":")
    )
    head, conditions = tokens[:place], split(tokens[place + 1 :], signs.separates) or [tokens[place + 1 :]]
    name = name_of(head[: first(head, "\\in")])
    kept = [part for part in conditions if not is_domain(part)]
    if name is None or (len(kept) != 1 and kept != conditions) or not is_real(head[first(head, "\\in") :]):
        raise Unreadable("a set by another rule than inequalities")
    answer = _read(tokens[place + 1 :] if kept == conditions else kept[0])
    if not isinstance(answer, types.Named) or answer.name != name:
        raise Unreadable("a set by another rule than one inequality of its variable")
    return answer.value


def _difference(left: list[Token], right: list[Token]) -> types.Answer:
    """Intervals, as a rule all real numbers, without some numbers."""
    missing = _read(right)
    if not isinstance(missing, types.Collection):
        raise Unreadable("a difference of other sets than intervals and numbers")
    return all_of([[_single(left), without(missing.items)]])
