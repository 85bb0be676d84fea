"""Problems whose question and answer each stand in a column: most sources, and local files."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pacs.data.golds import as_difficulty, math_gold
from pacs.data.problem import Dropped, Problem, Row


@dataclass(frozen=True)
class Columns:
    """A reader of rows, by the names of their columns.

    Attributes:
        question: column of the question.
        answer: column of the answer.
        solution: column whose last box is the answer where the answer's is empty.
        id: column of the row's name.
        difficulty: column of the level.
        gold: makes the gold answer of what stands in the column.
        strict: whether a row without the columns of its name and level is an error; else they are left out.
    """

    question: str = "problem"
    answer: str = "answer"
    solution: str | None = None
    id: str | None = None
    difficulty: str | None = None
    gold: Callable[[Any], str] = math_gold
    strict: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """Question and answer, and what else must be there."""
        others = (self.id, self.difficulty) if self.strict else ()
        return (self.question, self.answer, *filter(None, others))

    def __call__(self, row: Row, place: str) -> Problem:
        """Read one row; see `Reader`."""
        question, answer = row.get(self.question) or "", row.get(self.answer)
        if not isinstance(question, str) or isinstance(answer, dict):
            raise Dropped("question or answer is not text")
        question = question.strip()
        if not question:
            raise Dropped("empty question")
        gold = self.gold(answer)
        if not gold and self.solution:
            gold = self.gold(row.get(self.solution))
        if not gold:
            raise Dropped("empty answer")
        name = row.get(self.id) if self.id else None
        return Problem(
            question=question,
            gold=gold,
            id=place if name is None else str(name),
            difficulty=as_difficulty(row.get(self.difficulty)) if self.difficulty else None,
        )
