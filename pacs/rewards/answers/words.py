r"""Words in an answer: those that are all of it, those that say what LaTeX has a command for, and prose."""

import re
from fractions import Fraction
from typing import Final

from pacs.rewards.answers import kinds
from pacs.rewards.answers.expression import Number, Variable
from pacs.rewards.answers.reals import REALS
from pacs.rewards.answers.refusals import Unreadable
from pacs.rewards.answers.units import is_word_unit

#: Of three letters or fewer, and no products.
_SHORT_WORDS: Final = frozenset(["yes", "no", "odd", "all", "one", "two", "six", "ten", "dne"])
_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS: Final = _NUMBERS.split()
ZERO: Final = kinds.Expression(Number(Fraction(0)))
#: Sets that have a sign of their own, or are an interval.
_REALS = re.compile(r"(?:the set of )?(?:all |the )?(?:the )?real(?: number)?s|(?:any|every) real number", re.I)
_SET = re.compile(
    r"(?:the set of )?(?:all |the )?(?:(integer|natural number|rational number)|(\S+) real number)s", re.I
)
_SET_NAMES: Final = {"integer": "Z", "natural number": "N", "rational number": "Q"}
_HALVES: Final = {
    "positive": kinds.Bracketed("(", (ZERO, REALS.items[1]), ")"),
    "nonnegative": kinds.Bracketed("[", (ZERO, REALS.items[1]), ")"),
    "negative": kinds.Bracketed("(", (REALS.items[0], ZERO), ")"),
    "nonpositive": kinds.Bracketed("(", (REALS.items[0], ZERO), "]"),
}
_NONE = re.compile(r"(?:the )?empty set|(?:there (?:is|are) )?no (?:real )?solutions?", re.I)
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


def are_words(text: str) -> bool:
    """Whether it is words alone, and no product of letters."""
    return text in _SHORT_WORDS or (_BARE_WORDS.fullmatch(text) is not None and (len(text) > 3 or not text.islower()))


def words(text: str) -> kinds.Answer:
    """What words alone are: the number that they name, or themselves."""
    text = " ".join(text.split()).strip(" .")
    if _REALS.fullmatch(text):
        return REALS
    if found := _SET.fullmatch(text):
        name = _SET_NAMES.get((found[1] or "").lower())
        half = _HALVES.get((found[2] or "").lower().replace("-", ""))
        if answer := kinds.Expression(Variable(f"mathbb {name}")) if name else half:
            return answer
    if _NONE.fullmatch(text):
        return kinds.Collection(())
    if text.casefold() in _NUMBER_WORDS:
        return kinds.Expression(Number(Fraction(_NUMBER_WORDS.index(text.casefold()))))
    return kinds.Words(text if text.isupper() else text.casefold())


def with_modulus(text: str) -> str:
    r"""With \\pmod for all ways of writing it."""
    return _MODULUS.sub(lambda found: f"\\pmod{{{found[1] or found[2]}}}", text)


def with_commands(text: str) -> str:
    r"""With \text{...} around a unit in words, and around "or" and "and".

    Raises:
        Unreadable: If there are other words in it.
    """
    if (unit := _WORD_UNIT.fullmatch(text)) and is_word_unit(unit[2]):
        text = f"{unit[1]}\\text{{{unit[2]}}}"
    if prose := _PROSE.search(_COMMAND.sub(" ", text)):
        raise Unreadable(f"the word {prose[0]!r} within it")
    return _CONJUNCTION.sub(lambda found: found[1] or f"\\text{{{found[2]}}}", text)
