"""Two models on one task: its support at several k, and the entropies of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pacs.base.statistics import Estimate, estimate
from pacs.diversity.support import Support, right, support
from pacs.diversity.tokens import answer_entropy, token_entropy
from pacs.evaluation.sample import GradedTask

ENTROPIES = {"answer_entropy": answer_entropy, "token_entropy": token_entropy}


@dataclass(frozen=True)
class Entropy:
    """The mean over problems of one entropy, in nats: of the base model, of the trained one, of their difference."""

    base: Estimate
    model: Estimate
    difference: Estimate


@dataclass(frozen=True)
class TaskSupport:
    """What two models solve of a task.

    Attributes:
        at: k -> the problems by who solves them, k ascending.
        right: problem -> how many of the first samples, as many as the largest k, are right: base model, trained model.
        entropies: of those samples; an entropy that was not recorded is not there.
    """

    at: Mapping[int, Support]
    right: Mapping[str, tuple[int, int]]
    entropies: Mapping[str, Entropy]

    @property
    def k(self) -> int:
        """The largest."""
        return max(self.at)


def compare(base: GradedTask, model: GradedTask, ks: Sequence[int]) -> TaskSupport:
    """Compare two models on the same problems.

    Args:
        base, model: at least max(ks) samples of each problem.
        ks: how many samples of a problem count, from the first on.
    """
    k = max(ks)
    entropies = {}
    for name, entropy in ENTROPIES.items():
        pair = [[entropy(task.samples[problem][:k]) for problem in base.samples] for task in (base, model)]
        if None not in pair[0] + pair[1]:
            first, second = np.array(pair, dtype=np.float64)
            entropies[name] = Entropy(estimate(first), estimate(second), estimate(second - first))
    return TaskSupport(
        at={k: support(base, model, k) for k in ks},
        right={
            problem: (right(base.samples[problem], k), right(model.samples[problem], k)) for problem in base.samples
        },
        entropies=entropies,
    )
