"""The readers of rows: by the names of columns, as of most sources and local files; GPQA's; NuminaMath's marks."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pacs.data.golds import as_difficulty, boxed_gold, math_gold
from pacs.data.problem import Dropped, Problem, Row


@dataclass(frozen=True)
class Columns:
    """A reader of rows, by the names of their columns.

    A name may lead into a column, with dots: `reward_model.ground_truth`, or `prompt.0.content` for the first message.

    Attributes:
        question: column of the question.
        answer: column of the answer.
        solution: column whose last box is the answer where the answer's is empty.
        id: column of the row's name.
        difficulty: column of the level.
        level: makes the level of what stands in its column.
        gold: makes the gold answer of what stands in the column.
        unfit: says of a row, its question and its gold answer why it is not taken, or None.
        strict: whether a row without the columns of its name and level is an error; else they are left out.
    """

    question: str = "problem"
    answer: str = "answer"
    solution: str | None = None
    id: str | None = None
    difficulty: str | None = None
    level: Callable[[Any], float | None] = as_difficulty
    gold: Callable[[Any], str] = math_gold
    unfit: Callable[[Row, str, str], str | None] = lambda row, question, gold: None
    strict: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """Question and answer, and what else must be there."""
        others = (self.id, self.difficulty) if self.strict else ()
        return (self.question, self.answer, *filter(None, others))

    def __call__(self, row: Row, place: str) -> Problem:
        """Read one row; see `Reader`."""
        question, answer = at(row, self.question) or "", at(row, self.answer)
        if not isinstance(question, str):
            raise Dropped("the question is not text: name a place in it, as --question-column prompt.0.content")
        question = question.strip()
        if not question:
            raise Dropped("empty question")
        gold = self.gold(answer)
        if not gold and self.solution:
            gold = self.gold(boxed_gold(row.get(self.solution)))
        if not gold:
            raise Dropped("empty answer")
        if reason := self.unfit(row, question, gold):
            raise Dropped(reason)
        name = at(row, self.id) if self.id else None
        return Problem(
            question=question,
            gold=gold,
            id=place if name is None else str(name),
            difficulty=self.level(at(row, self.difficulty)) if self.difficulty else None,
        )


def at(row: Row, name: str) -> Any:
    """What a row has in a column, or in a place within one; None if it has nothing there."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, Sequence) and not isinstance(value, str) and re.fullmatch(r"-?\d+", part):
            value = next(iter(value[int(part) :][:1]), None)
        else:
            return None
    return value


SEED = 0
LETTERS = "ABCD"
RIGHT = "Correct Answer"
WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


@dataclass(frozen=True)
class Choices:
    """A reader of GPQA's rows. A question's order of choices depends on the seed and on the question alone."""

    required: tuple[str, ...] = ("Question", RIGHT, *WRONG)

    def __call__(self, row: Row, place: str) -> Problem:
        """Read one row; see `Reader`."""
        question, *choices = (str(row.get(column) or "").strip() for column in self.required)
        if not question:
            raise Dropped("empty question")
        if not all(choices):
            raise Dropped("empty answer")
        order = random.Random(f"{SEED}:{question}").sample(range(len(choices)), len(choices))
        shuffled = tuple(choices[i] for i in order)
        listed = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, shuffled, strict=True))
        return Problem(
            question=question,
            gold=LETTERS[order.index(0)],
            id=str(row.get("Record ID") or place),
            content=f"{question}\n\n{listed}",
            choices=shuffled,
        )


#: A letter for an answer, and the choices in the problem.
_LETTER: Final = re.compile(r"(?:\\(?:text\w*|mathrm|mathbf)\s*\{)?\(?([A-H])\)?\}?\.?")
_CHOICES: Final = re.compile(r"(?<![A-Za-z])\(?A\s*[).:}].*?(?<![A-Za-z])\(?B\s*[).:}]", re.S)
_PICTURE: Final = re.compile(r"!\[[^\]]*\]\(|<img\b|\\includegraphics")


def unfit(row: Row, question: str, gold: str) -> str | None:
    """Why a row is no problem to train on; None if it is one."""
    for column in ("problem_is_valid", "solution_is_valid"):
        if row.get(column, "Yes") != "Yes":
            return f"{column} is not Yes"
    if row.get("question_type") == "proof":
        return "proof"
    if row.get("question_type") == "MCQ" or (_LETTER.fullmatch(gold) and _CHOICES.search(question)):
        return "multiple choice"
    if _PICTURE.search(question):
        return "a picture is missing"
    return None
