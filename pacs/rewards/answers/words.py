r"""Words in an answer: those that are all of it, those that say what LaTeX has a command for, and prose."""

import re
from fractions import Fraction
from typing import Final

from pacs.rewards.answers import types
from pacs.rewards.answers.expression import Number
from pacs.rewards.answers.reals import REALS, set_of
from pacs.rewards.answers.refusals import Unreadable, check_size
from pacs.rewards.answers.unit_words import is_word_unit

#: Of three letters or fewer, and no products.
_SHORT_WORDS: Final = frozenset(["yes", "no", "odd", "all", "one", "two", "six", "ten", "dne"])
_NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS: Final = _NUMBERS.split()
#: Sets that have a sign of their own, or are an interval: the first two groups, or the other two, say which.
_WHICH: Final = r"(?:(positive|negative|non-?(?:negative|positive|zero)) )?"
_SETS: Final = r"(integer|natural number|rational number|real number"
_SET: Final = rf"(?:the set of )?(?:(?:all |the )*{_WHICH}{_SETS}|real)s|(?:any |every |each ){_WHICH}{_SETS}))"
_SET_NAME = re.compile(_SET, re.I)
#: "all x", "every real value of x".
_LOOSE: Final = r"(?:all|any|every)(?: real)?(?: values? of)? [a-z]"
_LETTERS: Final = {"integer": "Z", "natural number": "N", "rational number": "Q", "real number": "R", "real": "R"}
_INTERVALS: Final = {
    "": r"(-\infty,\infty)",
    "positive": r"(0,\infty)",
    "negative": r"(-\infty,0)",
    "nonnegative": r"[0,\infty)",
    "nonpositive": r"(-\infty,0]",
}
#: "all real numbers x except 0", "all real numbers greater than 2", "all real numbers x such that x > 2".
_ALL_REAL_BUT = re.compile(
    rf"(?:[a-z] (?:is|can be|\\in) )?(?:{_SET}|{_LOOSE}|\\mathbb ?\{{? ?R ?\}}?)(?: [a-z])?,? (?:"
    r"(?:except|other than|but(?: not)?|excluding|besides|apart from|aside from|not including|different from|\\neq?"
    r"|(?:that are |which are )?not(?: equal to)?)"
    r"(?: for| when| where)?(?: the)?(?: numbers?| values?| points?)? (?P<without>.+)"
    r"|(?P<bound>(?:that are )?(?:greater|larger|more|less|smaller) than(?: or equal to)?|at least|at most) (?P<end>.+)"
    r"|(?:(?:such that|with|where|for which|satisfying) )?(?P<rule>[a-z] ?(?:[<>]|\\(?:[lg]eq?|neq?|in)(?![a-z])).+))",
    re.I,
)
_ALL_REAL = re.compile(r"(?:all|any|every) real(?: values? of)? [a-z]", re.I)
_OF_REALS = re.compile(
    r"\breals?\b|^(?:\\text *\{ *)?(?:all|any|every) |\\mathbb *\{? *R *\}? *\\?(?:text|mathrm|mbox|[a-z]{3})", re.I
)
_NUMBER = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.I)
_A_NAME = re.compile(r"(?<![a-zA-Z\\])[a-z] ?(?:=|\\neq?(?![a-z])) ?")
_TYPESET = re.compile(r"\\(?:text\w*|mathrm|mbox)\s*\{([^{}]*)\}|\$")
_INFINITY = re.compile(r"(?:positive |plus |(negative |minus ))?infinity", re.I)
_NOTHING = re.compile(r"(?:the )?(?:limit )?(?:dne|does not exist)", re.I)
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
#: Behind a congruence without brackets; elsewhere "mod" is an operation.
_OPEN_MODULUS = re.compile(
    r"(?:\\(?:text|mathrm|operatorname)\s*\{\s*mod\s*\}|(?<![a-zA-Zp])\\?b?mod(?![a-zA-Z]))\s*\{?(\w+)\}?$"
)
_RESIDUES = re.compile(r"([^,=]*?\\equiv)((?:(?!\\pmod|\\equiv).)+)(\\pmod.+)")
_BETWEEN = re.compile(r",|\\text\s*\{\s*,?\s*(?:or|and)\s*\}|(?<![a-zA-Z\\])(?:or|and)(?![a-zA-Z])")
#: Of a parameter that takes all whole numbers, and of the variable of a function that is defined everywhere.
_PARAMETER = re.compile(
    r"(.*?\S)\s*(?:,|,?\s*\\text\s*\{\s*,?\s*(?:where|for|with)(?: any| all| every| some)?(?: integers?)?\s*\}|(?=\())"
    r"\s*\(?\s*([a-z])\s*"
    r"(?:\\in\s*(?:\\mathbb\s*\{?\s*Z\s*\}?|\\Z|Z)|\\text\s*\{\s*(?:is |be )?(?:an |any )?integers?\s*\})\s*\)?"
)
_EVERYWHERE = re.compile(
    r"([a-zA-Z]\(([a-z])\)\s*=.*?\S)\s*,?\s*(?:\\forall|\\text\s*\{\s*,?\s*for (?:all|every|any|each)"
    r"(?: (?:real|positive|negative|nonnegative|rational|natural|integers?|numbers?|reals))*\s*\})\s*\2\s*"
    r"(?:\\in\s*\\mathbb\s*\{?\s*[RZNQ]\s*\}?\s*(?:\^\{?[+*]\}?|_\{?>0\}?)?)?"
)
_ORDER = re.compile(r"[<>]|\\(?:le|ge|ne|leq|geq|neq)(?![a-z])")
#: Not a product of letters: capitals alone (AB), or words of which one has three letters that are no abbreviation.
_BARE_WORDS = re.compile(r"[A-Z]{2,}|(?=.*[A-Za-z]{3})[A-Za-z']{2,}(?:[ -](?![ -])[A-Za-z']+)*\.?")
#: A name of three letters has one: Tom, Red.
_VOWELS: Final = frozenset("aeiouy")
_WORD_UNIT = re.compile(r"(.*[\d})])\s*((?<=\s)[a-zA-Z].*|%|\\%|(?<=\d)[a-zA-Z]{2,})", re.S)


def are_words(text: str) -> bool:
    """Whether it is words alone, and no product of letters."""
    if text.rstrip(".").casefold() in _SHORT_WORDS:
        return True
    is_word = (
        len(text) > 3 or text.isupper() or (text.istitle() and not _VOWELS.isdisjoint(text.lower()))
    )  # Mgh is a product
    return _BARE_WORDS.fullmatch(text) is not None and is_word


def words(text: str) -> types.Answer:
    """What words alone are: the number that they name, or themselves."""
    text = " ".join(text.split()).strip(" .")
    if found := _SET_NAME.fullmatch(text):
        return set_of(*_set(found))
    if _NONE.fullmatch(text):
        return types.Collection(())
    if found := _INFINITY.fullmatch(text):
        return REALS.items[0 if found[1] else 1]
    if _NOTHING.fullmatch(text):
        return types.Words("DNE")
    if text.casefold() in _NUMBER_WORDS:
        return types.Expression(Number(Fraction(_NUMBER_WORDS.index(text.casefold()))))
    return types.Words(text if text.isupper() else text.casefold())


def _set(found: re.Match[str]) -> tuple[str, str]:
    """The letter of a set, and which of its numbers are meant."""
    name, which = (found[2] or found[4] or "real"), (found[1] or found[3] or "")
    return _LETTERS[name.lower()], which.lower().replace("-", "")


def with_signs(text: str) -> str:
    r"""With signs for what words say of the real numbers, as "all real numbers except 0"."""
    if not _OF_REALS.search(text):
        return text
    plain = " ".join(_TYPESET.sub(r" \1 ", text).split()).strip(" .")
    if _ALL_REAL.fullmatch(plain):
        return _INTERVALS[""]
    found = _ALL_REAL_BUT.fullmatch(plain)
    letter, which = _set(found) if found else ("", "")
    if found is None or letter != "R" or which not in _INTERVALS:
        return text
    if found["without"]:
        numbers = _NUMBER.sub(lambda word: str(_NUMBER_WORDS.index(word[0].lower())), found["without"])
        return rf"{_INTERVALS[which]}\setminus\{{{_A_NAME.sub('', numbers)}\}}"
    if which:
        return text
    if found["rule"]:
        return found["rule"]
    bound, end = found["bound"].lower(), found["end"]
    closed = "equal" in bound or bound.startswith("at")
    if "least" in bound or re.search("greater|larger|more", bound):
        return rf"{'(['[closed]}{end},\infty)"
    return rf"(-\infty,{end}{')]'[closed]}"


def without_domain(text: str) -> str:
    r"""Without what says that a parameter takes all whole numbers, or that a function is so everywhere.

    As in 2k\\pi, k \\in \\mathbb{Z}, and in f(x) = x for all x. A condition on an unknown stays, as in x > 2, x \\in Z.
    """
    if not text.endswith((")", "}", "Z", "R")) and "all" not in text:
        return text
    if found := _EVERYWHERE.fullmatch(text):
        return found[1]
    if (found := _PARAMETER.fullmatch(text)) and not _ORDER.search(found[1]):
        is_used = re.search(rf"(?<![a-zA-Z\\]){found[2]}(?![a-zA-Z]| ?=)", found[1])
        return found[1] if is_used else text
    return text


def with_modulus(text: str) -> str:
    r"""With \\pmod for all ways of writing it."""
    text = _MODULUS.sub(lambda found: f"\\pmod{{{found[1] or found[2]}}}", text)
    if "\\equiv" not in text:
        return text
    text = _OPEN_MODULUS.sub(r"\\pmod{\1}", text)
    if found := _RESIDUES.fullmatch(text):  # n \\equiv 0, 1 \\pmod 3
        residues = _BETWEEN.split(re.sub(r"\\pm ?(\w+)", r"\1,-\1", found[2]))
        text = ",".join(f"{found[1]}{residue}{found[3]}" for residue in residues)
        check_size(text)
    return text


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
