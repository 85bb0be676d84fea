"""What a task is: problems of several bands of difficulty, solutions to them, and the warm start before training."""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One problem of a task."""

    text: str  # what the user asks, as one chat message in printable ASCII
    ground_truth: str  # in the form that the task's verifier takes
    band: str  # of difficulty, by construction


@dataclass(frozen=True)
class Split:
    """Three sets of problems, none of which is in two of them, up to what the task says is the same problem."""

    train: list[Problem]
    probe: list[Problem]  # decides settings, such as the learning rate
    test: list[Problem]  # decides nothing


@dataclass(frozen=True)
class Phase:
    """A phase of the supervised warm start: cross-entropy on solutions that are drawn anew for each batch."""

    solution: Callable[[Problem, random.Random], str]  # a response to the problem
    steps: int
    lr: float  # Adam's, at its highest
    #: Whether the learning rate falls to a fiftieth over the second half of the phase; else it stays.
    decays: bool
    problems: int = 128  # a batch

    def lr_at(self, step: int) -> float:
        """Of step 1 to `steps`: a ramp first, since Adam's first steps at the full rate would cost what was learned."""
        if self.decays:
            return self.lr * min(step / 50, 1.0, 2 * (1 - step / self.steps) + 0.02)
        return self.lr * min(step / 30, 1.0)


@dataclass(frozen=True)
class Task:
    """A task, as `TASK` in `recipes/<name>/problems.py`."""

    name: str  # of the folder, and the data source of its rows
    verifier: str  # by its name in pacs/rewards/registry.py
    max_prompt_tokens: int  # of the chat template with the longest problem
    max_response_tokens: int
    split: Callable[[int], Split]  # by a seed
    phases: tuple[Phase, ...]  # of the warm start, one after the other, each with a new Adam
