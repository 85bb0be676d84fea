"""Two-digit addition and subtraction: the problems, their disjoint splits, and the parquet files."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

OPERANDS = range(10, 100)
TEST_PROBLEMS = 256
PROBE_PROBLEMS = 256


@dataclass(frozen=True)
class Problem:
    """`left operator right`, with left >= right under subtraction, so that no answer is negative."""

    left: int
    operator: Literal["+", "-"]
    right: int

    @property
    def text(self) -> str:
        """What the user asks: "47+38"."""
        return f"{self.left}{self.operator}{self.right}"

    @property
    def answer(self) -> int:
        """The right answer."""
        return self.left + self.right if self.operator == "+" else self.left - self.right

    @property
    def pair(self) -> tuple[int, int]:
        """The operands in ascending order: what training and held-out problems must not share."""
        return min(self.left, self.right), max(self.left, self.right)

    @property
    def crosses_ten(self) -> bool:
        """Whether the ones column carries or borrows."""
        ones_left, ones_right = self.left % 10, self.right % 10
        return ones_left + ones_right >= 10 if self.operator == "+" else ones_left < ones_right

    @property
    def ones_step(self) -> tuple[str, int]:
        """The ones column as it is worked ("7+8", "17-8") and its result."""
        ones_left, ones_right = self.left % 10, self.right % 10
        if self.operator == "+":
            return f"{ones_left}+{ones_right}", ones_left + ones_right
        ones_left += 10 * self.crosses_ten
        return f"{ones_left}-{ones_right}", ones_left - ones_right


@dataclass(frozen=True)
class Split:
    """Three sets of problems, no unordered operand pair in two of them."""

    train: list[Problem]
    probe: list[Problem]
    test: list[Problem]


def split_problems(seed: int) -> Split:
    """Split all operand pairs.

    A training pair {a, b} gives a+b, b+a and the difference; a probe or test pair gives one problem, sums and
    differences in turn. The probe says when the warm start is done, so that the test problems decide nothing.

    Args:
        seed: decides the split and the order.
    """
    rng = random.Random(seed)
    pairs = [(small, large) for small in OPERANDS for large in OPERANDS if small <= large]
    rng.shuffle(pairs)
    train = []
    for small, large in pairs[PROBE_PROBLEMS + TEST_PROBLEMS :]:
        train += [Problem(small, "+", large), Problem(large, "-", small)]
        if small != large:
            train.append(Problem(large, "+", small))
    rng.shuffle(train)
    return Split(
        train=train,
        probe=_one_problem_each(pairs[:PROBE_PROBLEMS]),
        test=_one_problem_each(pairs[PROBE_PROBLEMS : PROBE_PROBLEMS + TEST_PROBLEMS]),
    )


def _one_problem_each(pairs: list[tuple[int, int]]) -> list[Problem]:
    problems = []
    for i, (small, large) in enumerate(pairs):
        left, right = (small, large) if i % 4 == 0 else (large, small)
        problems.append(Problem(left, "+" if i % 2 == 0 else "-", right))
    return problems


def write_parquet(problems: list[Problem], path: Path, split: str) -> None:
    """Write `problems` in verl's schema: one row a problem, its prompt as chat messages."""
    rows: list[dict[str, Any]] = [
        {
            "data_source": "arithmetic",
            "prompt": [{"role": "user", "content": problem.text}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(problem.answer)},
            "extra_info": {"index": i, "split": split},
        }
        for i, problem in enumerate(problems)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
