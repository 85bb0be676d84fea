"""A step's responses: prompts drawn, responses sampled by the policy of now or of some steps ago, and graded."""

import copy
import random
from collections import deque
from dataclasses import dataclass

import torch

from pacs.algorithm import Method
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.dapo import Dapo
from recipes.laboratory.sampling import Samples, joined, sample
from recipes.laboratory.settings import Settings
from recipes.starts.read import grade


@dataclass(frozen=True)
class Batch:
    """A step's B responses, a group of them to each prompt, and what sampling them took.

    `labels` (B,) float32, 0 or 1, and `groups` (B,) int64; rows of a group are consecutive. `rollouts` and `tokens`
    were sampled, of which `right` were right: these are more than B where prompts were replaced.
    """

    samples: Samples
    labels: torch.Tensor
    groups: torch.Tensor
    rollouts: int
    tokens: int
    right: int


class Rollouts:
    """Samples step after step; the same beginning and settings draw the same prompts and random numbers.

    Args:
        beginning: whose policy is trained from one step to the next.
        settings: of the run.
        method: with its settings.
    """

    def __init__(self, beginning: Beginning, settings: Settings, method: Method) -> None:
        self._beginning, self._settings = beginning, settings
        self._rounds = method.rounds if isinstance(method, Dapo) else 1
        self._order = random.Random(settings.seed)
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._sampler = copy.deepcopy(beginning.policy) if settings.staleness else beginning.policy
        #: Weights before this step and those before it, the oldest first.
        self._past: deque[dict[str, torch.Tensor]] = deque(maxlen=settings.staleness + 1)

    def next(self) -> Batch:
        """The next step's: to be called once a step, before its first update."""
        if self._settings.staleness:
            weights = self._beginning.policy.state_dict()
            self._past.append({name: value.clone() for name, value in weights.items()})
            self._sampler.load_state_dict(self._past[0])
        size = self._settings.responses
        kept: list[tuple[Samples, torch.Tensor]] = []
        rollouts, tokens, right, missing = 0, 0, 0, self._settings.prompts
        for turn in range(1, self._rounds + 1):
            samples, labels = self._sample(missing)
            rollouts, tokens = rollouts + len(samples), tokens + int(samples.response_mask.sum())
            right += int(labels.sum())
            if turn == self._rounds:  # what is still missing is taken as it is
                kept.append((samples, labels))
                break
            shares = labels.view(-1, size).mean(1)
            mixed = ((shares > 0) & (shares < 1)).repeat_interleave(size).nonzero()[:, 0]
            if len(mixed):
                kept.append((samples.of(mixed), labels[mixed]))
            missing -= len(mixed) // size
            if missing == 0:
                break
        samples_kept = kept[0][0] if len(kept) == 1 else joined([samples for samples, _ in kept])
        groups = torch.arange(self._settings.prompts).repeat_interleave(size)
        return Batch(samples_kept, torch.cat([labels for _, labels in kept]), groups, rollouts, tokens, right)

    def _sample(self, prompts: int) -> tuple[Samples, torch.Tensor]:
        """Responses to newly drawn prompts, and their labels."""
        begun, size = self._beginning, self._settings.responses
        problems = begun.train.of(self._order.sample(range(len(begun.train)), prompts))
        samples = sample(
            self._sampler,
            begun.tokenizer,
            problems.messages,
            samples=size,
            max_tokens=begun.max_response_tokens,
            generator=self._generator,
        )
        each = problems.of([row // size for row in range(len(samples))])
        return samples, grade(samples.texts, each.answers, each.verifiers)
