"""GPQA: four choices in an order of ours, the gold answer the letter of the right one."""

import random
from dataclasses import dataclass

from pacs.data.problem import Dropped, Problem, Row

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
