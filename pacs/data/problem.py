"""One problem, whatever its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

#: A row of a source: column -> value.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """What a model is asked, and what is right.

    Attributes:
        question: the statement, by which problems are compared.
        gold: the right answer, as the verifier takes it.
        id: the source's name for it.
        difficulty: the larger, the harder, on the source's own scale; None if it has none.
        content: what the user says, if that is more than the question.
        system: the system message, if the source has one.
        choices: texts of the choices in the order of their letters, if there are any.
    """

    question: str
    gold: str
    id: str
    difficulty: float | None = None
    content: str | None = None
    system: str | None = None
    choices: tuple[str, ...] | None = None


class Dropped(Exception):
    """A row that is no problem to train or evaluate on; the message is the reason, as the manifest counts it."""


class Reader(Protocol):
    """Makes a problem of a row of one source."""

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which nothing can be read."""

    def __call__(self, row: Row, place: str) -> Problem:
        """Read one row.

        Args:
            row: column -> value.
            place: the row's number in the source, its id if it has no other.

        Raises:
            Dropped: If there is no problem in it.
        """


def prompt(problem: Problem, instruction: str, system: str | None = None) -> list[dict[str, str]]:
    """The chat messages: the system's if there is one, and the user's, which ends with the instruction.

    Args:
        problem: what is asked.
        instruction: may be empty.
        system: in place of the problem's own system message; empty for none at all.
    """
    content = problem.content or problem.question
    user = {"role": "user", "content": f"{content}\n{instruction}" if instruction else content}
    system = problem.system if system is None else system
    return [{"role": "system", "content": system}, user] if system else [user]
