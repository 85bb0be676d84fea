"""What a training set must not have: a problem twice, and a problem of the prepared evaluation sets."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.data.asking import without_asking
from pacs.data.output import read_manifest
from pacs.data.problem import Dropped, Problem
from pacs.rewards.answers.exact import exact
from pacs.rewards.answers.read_answer import read
from pacs.rewards.answers.tokens import bare
from pacs.rewards.answers.types import Expression, Operation

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
    """Remembers the problems that it was shown, by a hash of each.

    Args:
        form: of a gold answer, one text for those that are the same answer.
    """

    def __init__(self, form: Callable[[str], str] = str) -> None:
        self._form = form
        self._golds: dict[bytes, bytes] = {}

    def check(self, problem: Problem) -> None:
        """Raise `Dropped` if the question was there before; whether with the same answer is in the reason."""
        question, gold = _digest(normalised(problem.question)), _digest(self._form(problem.gold))
        if question in self._golds:
            raise Dropped("duplicate" if self._golds[question] == gold else "duplicate with another answer")
        self._golds[question] = gold


def form_of_mathematics(gold: str) -> str:
    r"""One text for gold answers that are written in several ways: \frac13 and \frac{1}{3}, 0.5 and 1/2."""
    text = bare(gold)
    try:
        answer = read(text)
        value = exact(answer.node) if isinstance(answer, Expression) else None
        return text if isinstance(answer, Operation) else repr(answer if value is None else value)
    except (ValueError, RecursionError):  # it cannot be read, or is beyond a bound
        return text


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


FILE = "test.parquet"


@dataclass(frozen=True)
class EvaluationSet:
    """A parquet file in verl's schema, and the hash of its bytes."""

    file: Path
    sha256: str

    @property
    def name(self) -> str:
        """Folder and file."""
        return f"{self.file.absolute().parent.name}/{self.file.name}"


def find_evaluation_sets(given: Sequence[Path], out: Path) -> list[EvaluationSet]:
    """The evaluation sets that are given, or else those that lie prepared in folders beside `out`.

    Args:
        given: parquet files, or folders with a `test.parquet`.
        out: folder of the training set.

    Raises:
        UserError: If one that is given is not there.
    """
    files = [path / FILE if path.is_dir() else path for path in given]
    for file in files:
        if not file.is_file():
            raise UserError(f"--evaluation {file}: no such file; prepare it first with `pacs data prepare`")
    if not given:
        beside = sorted(out.absolute().parent.glob(f"*/{FILE}"))
        files = [file for file in beside if file.parent != out.absolute() and read_manifest(file.parent)]
    return [EvaluationSet(file, file_sha256(file)) for file in files]


def read_overlap(sets: Sequence[EvaluationSet], instruction: str) -> Overlap:
    """Index the questions of evaluation sets.

    Args:
        sets: to be read.
        instruction: what ends the prompts of a file that has no manifest to say it.

    Raises:
        UserError: If one is not in verl's schema.
    """
    overlap = Overlap()
    for each in sets:
        manifest = read_manifest(each.file.parent)
        ending = "\n" + (manifest["settings"]["instruction"] if manifest else instruction)
        try:
            table = pq.read_table(each.file, columns=["data_source", "prompt"])
            for row in table.to_pylist():
                overlap.add(row["prompt"][-1]["content"].removesuffix(ending), str(row["data_source"]))
        except (pa.ArrowException, OSError, LookupError, TypeError, AttributeError) as error:
            raise UserError(
                f"--evaluation {each.file} is not a parquet file in verl's schema; `pacs data prepare` makes one"
            ) from error
    return overlap
