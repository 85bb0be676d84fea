"""The responses that every algorithm is measured on: lengths, tokens, labels, and the padded copy."""

import math
import random
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.step.settings import LONGEST, Settings


@dataclass(frozen=True)
class Rollouts:
    """A train batch, a list an entry a response; responses to one prompt are next to each other.

    Attributes:
        prompts: tokens of each response's prompt.
        responses: tokens.
        mask: 1 for tokens that count, 0 for padding.
        log_probs: what the sampler gave each token.
        labels: 0 or 1.
    """

    prompts: list[list[int]]
    responses: list[list[int]]
    mask: list[list[int]]
    log_probs: list[list[float]]
    labels: list[float]

    def save(self, folder: Path) -> None:
        """Write to the work folder."""
        torch.save(vars(self), folder / "rollouts.pt")

    @classmethod
    def load(cls, folder: Path) -> "Rollouts":
        """Read from the work folder."""
        return cls(**torch.load(folder / "rollouts.pt"))


def response_lengths(count: int, median: int, seed: int) -> list[int]:
    """Log-normal lengths whose median is `median` and whose longest is `LONGEST` times that, in random order."""
    rng = random.Random(seed)
    logs = [rng.gauss(0, 1) for _ in range(count)]
    middle = statistics.median(logs)
    scale = math.log(LONGEST) / (max(logs) - middle)
    return [max(1, round(median * math.exp(scale * (log - middle)))) for log in logs]


def random_prompts(settings: Settings, vocabulary: int) -> list[list[int]]:
    """Each response's prompt, of random tokens."""
    rng = random.Random(settings.seed)
    prompts = [rng.choices(range(vocabulary), k=settings.prompt_tokens) for _ in range(settings.prompts)]
    return [prompt for prompt in prompts for _ in range(settings.responses)]


def make_rollouts(
    prompts: list[list[int]], responses: list[list[int]], log_probs: list[list[float]], seed: int
) -> Rollouts:
    """Rollouts without padding, with labels by the toss of a coin."""
    rng = random.Random(seed)
    return Rollouts(
        prompts=prompts,
        responses=responses,
        mask=[[1] * len(response) for response in responses],
        log_probs=log_probs,
        labels=[float(rng.random() < 0.5) for _ in responses],
    )


def random_rollouts(settings: Settings, vocabulary: int) -> Rollouts:
    """Random tokens in place of sampled ones, of the same lengths."""
    rng = random.Random(settings.seed)
    lengths = response_lengths(settings.rows, settings.median_tokens, settings.seed)
    responses = [rng.choices(range(vocabulary), k=length) for length in lengths]
    log_probs = [[-math.log(vocabulary)] * length for length in lengths]
    return make_rollouts(random_prompts(settings, vocabulary), responses, log_probs, settings.seed)


def pad_responses(rollouts: Rollouts, longest: int) -> Rollouts:
    """Every response filled up to `longest` tokens that do not count."""

    def filled(rows: list[list[Any]], value: float) -> list[list[Any]]:
        return [row + [value] * (longest - len(row)) for row in rows]

    return Rollouts(
        prompts=rollouts.prompts,
        responses=filled(rollouts.responses, 0),
        mask=filled(rollouts.mask, 0),
        log_probs=filled(rollouts.log_probs, 0.0),
        labels=rollouts.labels,
    )
