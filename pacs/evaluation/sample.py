"""What is generated, with a seed for each sample, and what the verifier says of it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pacs.rewards.verdict import Status

#: Problem's id and the sample's index.
Key = tuple[str, int]


@dataclass(frozen=True)
class Problem:
    """A problem of a task, as it lies in verl's schema.

    Attributes:
        id: unique in its task.
        prompt: chat messages.
        data_source, ground_truth, extra_info: what the verifier is given.
    """

    id: str
    prompt: list[dict[str, str]]
    data_source: str
    ground_truth: str
    extra_info: dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """A response to a problem.

    Attributes:
        problem: the problem's id.
        index: which of the problem's samples, from 0.
        seed: of its sampling.
        response: text, without the tokens that end it.
        tokens: how many it has, the one that ends it included.
        truncated: cut off at the limit of tokens.
        token_entropy: mean of -log p over its tokens, p after temperature and top-p (nats): in expectation the mean
            entropy of the distributions it was drawn from; None where it was not asked for.
        answer_begins: the character of the response at which its answer begins; -1 where it ended within its reasoning,
            None in the folder of a version that did not write it down.
    """

    problem: str
    index: int
    seed: int
    response: str
    tokens: int
    truncated: bool
    token_entropy: float | None = None
    answer_begins: int | None = None


@dataclass(frozen=True)
class Grade:
    """The verifier's word on a sample (`pacs.rewards.verdict`), without the sample."""

    problem: str
    index: int
    score: float
    status: Status
    predicted: str

    @property
    def key(self) -> Key:
        """Whose it is."""
        return self.problem, self.index


@dataclass(frozen=True)
class Graded:
    """A sample with the verifier's word on it (`pacs.rewards.verdict`)."""

    sample: Sample
    score: float
    status: Status
    predicted: str


@dataclass(frozen=True)
class GradedTask:
    """All of one task, of one model.

    Attributes:
        name: the task's.
        problems: in the order of their file.
        samples: of each problem, by its id, in the order of their indices; equally many of each.
    """

    name: str
    problems: list[Problem]
    samples: dict[str, list[Graded]]


def problems_sha256(problems: Sequence[Problem]) -> str:
    """SHA-256 of problems, prompts and right answers among them: the same for all files that have these."""
    return hashlib.sha256(json.dumps([asdict(problem) for problem in problems]).encode()).hexdigest()


def sample_seed(seed: int, task: str, problem: str, index: int) -> int:
    """A seed of 63 bits for one sample: it depends on nothing but these four.

    Args:
        seed: the evaluation's.
        task: the task's name.
        problem: the problem's id.
        index: which of the problem's samples.
    """
    about = json.dumps([seed, task, problem, index])
    return int.from_bytes(hashlib.sha256(about.encode()).digest()[:8], "little") >> 1
