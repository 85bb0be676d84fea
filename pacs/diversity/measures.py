"""Every measure of one task of one model, by problem, and what two models differ by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pacs.base.statistics import Estimate, estimate
from pacs.diversity.distance import Array, mean_cosine_distance
from pacs.diversity.tokens import HIGHEST_N, answer_entropy, distinct_n, token_entropy
from pacs.evaluation.sample import Graded, GradedTask

COSINE = "cosine_distance"
ANSWER_ENTROPY = "answer_entropy"
TOKEN_ENTROPY = "token_entropy"
DISTINCT = tuple(f"distinct_{n}" for n in range(1, HIGHEST_N + 1))

#: Every measure, with what a table calls it.
MEASURES = {
    COSINE: "mean pairwise cosine distance",
    ANSWER_ENTROPY: "answer entropy, nats",
    TOKEN_ENTROPY: "token entropy, nats",
    **{name: f"distinct-{n}" for n, name in enumerate(DISTINCT, start=1)},
}

#: A response -> its tokens.
Tokenize = Callable[[list[str]], Sequence[Sequence[int] | Sequence[str]]]


@dataclass(frozen=True)
class Measured:
    """One task of one model.

    Attributes:
        problems: how many the task has.
        samples: of each.
        selected: responses that were embedded.
        cut: of these, how many were longer than the embedding model takes.
        values: measure -> problem -> value, without the problems that have none.
    """

    problems: int
    samples: int
    selected: int
    cut: int
    values: Mapping[str, Mapping[str, float]]

    def mean(self, measure: str) -> Estimate | None:
        """Over the problems that have it; None if none has."""
        values = self.values[measure]
        return estimate(list(values.values())) if values else None


def select(task: GradedTask, only_correct: bool) -> dict[str, list[Graded]]:
    """The responses whose distances count, by problem."""
    return {
        problem: [graded for graded in samples if graded.status == "correct" or not only_correct]
        for problem, samples in task.samples.items()
    }


def measure(task: GradedTask, units: Mapping[str, Array], cut: int, tokenize: Tokenize) -> Measured:
    """Measure a task.

    Args:
        task: its problems and samples.
        units: problem -> (n, D), the unit vectors of its selected responses.
        cut: how many of these were too long for the embedding model.
        tokenize: for distinct-n.
    """
    values: dict[str, dict[str, float]] = {name: {} for name in MEASURES}
    for problem, samples in task.samples.items():
        found: dict[str, float | None] = {
            COSINE: mean_cosine_distance(units[problem]) if len(units[problem]) > 1 else None,
            ANSWER_ENTROPY: answer_entropy(samples),
            TOKEN_ENTROPY: token_entropy(samples),
        }
        found |= zip(DISTINCT, distinct_n(tokenize([graded.sample.response for graded in samples])), strict=True)
        for name, value in found.items():
            if value is not None:
                values[name][problem] = value
    return Measured(
        problems=len(task.problems),
        samples=max(map(len, task.samples.values())),
        selected=sum(map(len, units.values())),
        cut=cut,
        values=values,
    )


def difference(first: Measured, second: Measured, measure: str) -> tuple[Estimate, int] | None:
    """Second minus first over the problems where both have the measure, and how many these are; None if there is none.

    The interval is the paired bootstrap's: the same problems are drawn for both.
    """
    a, b = first.values[measure], second.values[measure]
    common = [problem for problem in a if problem in b]
    if not common:
        return None
    return estimate(np.array([b[problem] - a[problem] for problem in common])), len(common)
