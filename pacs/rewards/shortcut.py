"""What can be said of two answers without computer algebra: what math-verify says (as seen: docs/rewards.md)."""

import re
from typing import Literal, NamedTuple

from pacs.rewards.notation import canonical
from pacs.rewards.numbers import equal_numbers, number
from pacs.rewards.value import differ, value_of

#: Of a variable; e, i and d are not read as one.
_ASSIGNMENT = re.compile(r"(?:\\[a-zA-Z]+|[a-ce-hj-zA-Z])=([^=,]+)")
_TUPLE = re.compile(r"([(\[])([^()\[\]]+,[^()\[\]]+)([)\]])")
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")


def grade_without_algebra(predicted: str, gold: str) -> Literal["correct", "wrong"] | None:
    """`correct` for the same text and equal numbers; `wrong` where a value differs.

    Args:
        predicted, gold: answers as `notation.bare` leaves them.

    Returns:
        None where it takes more than that.
    """
    predicted, gold = _without_assignment(canonical(predicted), canonical(gold))
    if predicted == gold:
        return "correct"
    a, b = number(predicted), number(gold)
    if a is not None and b is not None:
        equal = equal_numbers(a, b)
        return None if equal is None else "correct" if equal else "wrong"
    return "wrong" if _differ(_values(predicted), _values(gold)) else None


def _without_assignment(predicted: str, gold: str) -> tuple[str, str]:
    """The right sides of `x=5` and `5`; math-verify takes them so where only one is an equation."""
    if ("=" in predicted) == ("=" in gold):
        return predicted, gold
    equation = _ASSIGNMENT.fullmatch(predicted if "=" in predicted else gold)
    if equation is None or (number(equation[1]) is None and value_of(equation[1]) is None):
        return predicted, gold
    return (equation[1], gold) if "=" in predicted else (predicted, equation[1])


class _Shape(NamedTuple):
    """Answers of different shapes are left to math-verify: it may read one as the other."""

    brackets: str
    length: int
    variables: frozenset[str]


def _values(answer: str) -> tuple[_Shape, list[float]] | None:
    """The values of an expression, or of a point or an interval; None for anything else."""
    match = _TUPLE.fullmatch(answer)
    if match is not None and _THOUSANDS.search(answer):
        return None
    parts = match[2].split(",") if match else [answer.removeprefix("\\$")]
    values = [value for part in parts if (value := value_of(part)) is not None]
    if len(values) != len(parts):
        return None
    variables = frozenset().union(*(value.variables for value in values))
    shape = _Shape(match[1] + match[3] if match else "", len(values), variables)
    return shape, [value.value for value in values]


def _differ(a: tuple[_Shape, list[float]] | None, b: tuple[_Shape, list[float]] | None) -> bool:
    if a is None or b is None or a[0] != b[0]:
        return False
    return any(differ(x, y) for x, y in zip(a[1], b[1], strict=True))
