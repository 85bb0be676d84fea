"""The solutions of a few numbers and a target, by brute force.

As in the game, all that is calculated on the way is a whole number above 0. (The verifier takes other solutions, too.)
Solutions that differ in the order and the grouping of sums and of products alone are one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from pacs.rewards.expressions import Expression, Node, canonical


@dataclass(frozen=True)
class Solution:
    """An expression with its calculation."""

    expression: Expression
    value: int
    #: Its calculation, if each operation is on the result of the one before it and a number: "13-4=9*2=18".
    chain: str | None

    @property
    def text(self) -> str:
        """The expression, with the brackets that it needs: "(13-4)*2"."""
        return _text(self.expression)


@cache
def solutions(numbers: tuple[int, ...]) -> dict[int, list[Solution]]:
    """Target -> the different solutions that use each number at most once, and two at least.

    One that can be written as a chain is.

    Args:
        numbers: above 0 and in ascending order; four at most, or it takes seconds.
    """
    found: dict[int, list[Solution]] = {}
    for size in range(2, len(numbers) + 1):
        for chosen in dict.fromkeys(combinations(numbers, size)):
            for solution in _of_all(chosen).values():
                found.setdefault(solution.value, []).append(solution)
    return found


@cache
def _of_all(numbers: tuple[int, ...]) -> dict[str, Solution]:
    """Canonical form -> solution, of those that use every number."""
    if len(numbers) == 1:
        return {str(numbers[0]): Solution(numbers[0], numbers[0], str(numbers[0]))}
    found: dict[str, Solution] = {}
    for left, right in _parts(numbers):
        for x in _of_all(left).values():
            for y in _of_all(right).values():
                for sign, value in _results(x.value, y.value):
                    parts = ((False, x.expression), (sign in "-/", y.expression))
                    expression = Node("sum" if sign in "+-" else "product", parts)
                    chain = f"{x.chain}{sign}{y.value}={value}" if x.chain and len(right) == 1 else None
                    found.setdefault(canonical(expression), Solution(expression, value, chain))
    return found


def _results(a: int, b: int) -> Iterator[tuple[str, int]]:
    """The operations on two whole numbers above 0 whose result is one, too."""
    yield "+", a + b
    yield "*", a * b
    if a > b:
        yield "-", a - b
    if a % b == 0:
        yield "/", a // b


def _parts(numbers: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All ways to cut them in two, neither empty; the longest left parts first, for the sake of chains."""
    places = range(len(numbers))
    for size in reversed(range(1, len(numbers))):
        for chosen in combinations(places, size):
            yield tuple(numbers[i] for i in chosen), tuple(numbers[i] for i in places if i not in chosen)


def _text(expression: Expression) -> str:
    if isinstance(expression, int):
        return str(expression)
    (_, left), (inverted, right) = expression.parts
    if expression.kind == "sum":
        return f"{_text(left)}-{_bracketed(right, 'sum')}" if inverted else f"{_text(left)}+{_text(right)}"
    return _bracketed(left, "sum") + (
        f"/{_bracketed(right, 'sum', 'product')}" if inverted else f"*{_bracketed(right, 'sum')}"
    )


def _bracketed(part: Expression, *kinds: str) -> str:
    """In brackets if it is of one of these kinds."""
    return f"({_text(part)})" if isinstance(part, Node) and part.kind in kinds else _text(part)
