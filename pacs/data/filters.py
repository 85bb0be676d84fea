"""What a training set must not have: a problem twice, and a problem of the evaluation sets."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator

from pacs.data.asking import without_asking
from pacs.data.problem import Dropped, Problem

#: Words in a row that two problems must not share.
NGRAM_WORDS = 13
# What does not change how a formula is read.
_SPACING = re.compile(r"\\(left|right|displaystyle|quad|qquad)(?![a-z])|\\[,;:! ()[\]]|[\s$~]")
# "Problem 7.", "Problem 7" on a line of its own, "7." or "1)" before words or a formula.
_NUMBER = re.compile(r"\s*((problem|question|exercise)\s*\d+([.:)]\s|[ \t]*\n)|\d+[.)]\s+(?=[^\W\d_]|[$\\]))")


def normalised(text: str) -> str:
    r"""The text without a number in front, case, white space, what encloses formulas, and LaTeX's spacing.

    `\dfrac` is `\frac`, and requests for a form of the answer are left out. Signs stay: they count.
    """
    text = unicodedata.normalize("NFKC", without_asking(text)).casefold()
    if number := _NUMBER.match(text):
        text = text[number.end() :]
    return re.sub(r"\\[dt]frac", r"\\frac", _SPACING.sub("", text)).strip(".")


def words(text: str) -> list[str]:
    """What stands between white space, without case and all that is neither letter nor digit."""
    bare = re.sub(r"[^\w\s]|_", "", unicodedata.normalize("NFKC", text).casefold())
    return bare.split()


def ngrams(text: str) -> Iterator[str]:
    """Every `NGRAM_WORDS` words in a row."""
    split = words(without_asking(text))
    for i in range(len(split) - NGRAM_WORDS + 1):
        yield " ".join(split[i : i + NGRAM_WORDS])


class Duplicates:
    """Remembers the problems that it was shown, by a hash of each."""

    def __init__(self) -> None:
        self._golds: dict[bytes, bytes] = {}

    def check(self, problem: Problem) -> None:
        """Raise `Dropped` if the question was there before; whether with the same answer is in the reason."""
        question, gold = _digest(normalised(problem.question)), _digest(problem.gold)
        if question in self._golds:
            raise Dropped("duplicate" if self._golds[question] == gold else "duplicate with another answer")
        self._golds[question] = gold


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Overlap:
    """The questions of the evaluation sets: their texts, and their n-grams."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._ngrams: dict[str, str] = {}

    def add(self, question: str, name: str) -> None:
        """A question of the evaluation set `name`."""
        self._texts.setdefault(normalised(question), name)
        for ngram in ngrams(question):
            self._ngrams.setdefault(ngram, name)

    def check(self, problem: Problem) -> None:
        """Raise `Dropped` if the question is one of theirs, or shares an n-gram with one."""
        name = self._texts.get(normalised(problem.question))
        if name is not None:
            raise Dropped(f"overlap with {name}: the same text")
        for ngram in ngrams(problem.question):
            if ngram in self._ngrams:
                raise Dropped(f"overlap with {self._ngrams[ngram]}: {NGRAM_WORDS} words")
