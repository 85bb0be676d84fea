r"""The verifier of countdown: given numbers and a target, an expression of the numbers that comes to the target.

The ground truth is JSON: `{"numbers": [3, 7, 25, 50], "target": 82}`.
"""

import re
from collections import Counter
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pacs.base.errors import one_line
from pacs.rewards import expressions
from pacs.rewards.answers.tokens import bare
from pacs.rewards.extract import answer_of
from pacs.rewards.reasoning import final_part
from pacs.rewards.verdict import verdict

#: What may follow an expression: `= 82`.
_RESULT: Final = re.compile(r"(.*)=\s*(-?(?:0|[1-9][0-9]*))\s*", re.DOTALL)
#: All numbers of a ground truth are below it.
_LIMIT: Final = 10**9


class Countdown(BaseModel):
    """A problem.

    Attributes:
        numbers: those that may be used, each as often as it stands here; whole numbers, none below 0.
        target: what the expression must come to.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    numbers: list[Annotated[int, Field(ge=0, lt=_LIMIT)]] = Field(min_length=1)
    target: int = Field(gt=-_LIMIT, lt=_LIMIT)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read it from a row's ground truth. Raises ValueError if it is not in its form."""
        try:
            return cls.model_validate_json(str(text))
        except ValidationError as error:
            form = "{numbers: [whole numbers from 0], target: whole number} below 10^9"
            raise ValueError(f"the ground truth is not {form} ({one_line(error)})") from error


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    unboxed: bool = False,
    use_all: bool = False,
) -> dict[str, Any]:
    r"""Whether the last boxed answer is an expression of the given numbers that comes to the target, exactly.

    Args:
        data_source: unused; verl passes it.
        solution_str: the response.
        ground_truth: the numbers and the target, as JSON.
        extra_info: may say where the answer begins (`pacs.rewards.reasoning`).
        unboxed: as of the verifier of mathematics.
        use_all: each number must be used as often as it is given; else at most as often.

    Returns:
        The `verdict`; `no_answer` where nothing, or white space, is boxed; `error` for a ground truth with a
        `gold_problem`.
    """
    predicted = answer_of(final_part(solution_str, extra_info), unboxed)
    if not predicted:
        return verdict("no_answer")
    try:
        problem = Countdown.from_json(ground_truth)
    except ValueError:
        return verdict("error", predicted)
    return verdict("correct" if _is_right(predicted, problem, use_all) else "wrong", predicted)


def _is_right(answer: str, problem: Countdown, use_all: bool) -> bool:
    try:
        expression, result = _read(answer)
        used, given = Counter(expressions.numbers(expression)), Counter(problem.numbers)
        allowed = used == given if use_all else used <= given
        return allowed and result in (None, problem.target) and expressions.value(expression) == problem.target
    except (ValueError, ZeroDivisionError):
        return False


def _read(answer: str) -> tuple[expressions.Expression, int | None]:
    """An answer's expression, and the result behind it, if there is one. Raises ValueError if it is of another form."""
    if len(answer) > expressions.MAX_CHARS:
        raise ValueError(f"more than {expressions.MAX_CHARS} characters")
    answer = bare(answer)
    result = _RESULT.fullmatch(answer)
    return (expressions.read(result[1]), int(result[2])) if result else (expressions.read(answer), None)


def canonical(answer: str) -> str:
    """The one form of all answers that differ in the order and the grouping of sums and of products alone.

    To count different right answers: see `pacs.rewards.expressions.canonical`. A result behind the answer (`= 82`)
    is left out.

    Args:
        answer: what the box holds, such as the `predicted` of a right answer.

    Raises:
        ValueError: it is no expression.
    """
    return expressions.canonical(_read(answer)[0])


def gold_problem(gold: str) -> str | None:
    """Why no response can be graded by it, in words for the user; None if one can. For preparing data."""
    try:
        Countdown.from_json(gold)
    except ValueError as error:
        return str(error)
    return None
