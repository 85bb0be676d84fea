"""A step's responses: prompts drawn, responses sampled by the policy of now or of some steps ago, and graded."""

import copy
import random
from collections import deque
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch

from pacs.algorithm import Method
from pacs.algorithm.dars import extra_responses
from pacs.algorithm.pool import Pool
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.dapo import Dapo
from recipes.laboratory.grading import grade
from recipes.laboratory.retries import retried
from recipes.laboratory.rewards import Rewards
from recipes.laboratory.sampling import Samples, joined, sample
from recipes.laboratory.settings import Settings
from recipes.laboratory.vine import completed
from recipes.starts.read import Problems


@dataclass(frozen=True)
class Batch:
    """A step's B responses, a group of them to each prompt, and what sampling them took.

    `labels` (B,) float32, 0 or 1, and `groups` (B,) int64; rows of a group are consecutive. `rewards` (B,) float32 are
    what is trained on, mostly the labels. `first` (B,) bool are those without a second stage's, and completions.
    `rollouts` and `tokens` were sampled: these are more than B where prompts were replaced, wrong responses tried
    again, or steps valued by completions. `reward` is the share of right ones among all that were sampled, but for a
    second stage's, retries and completions. `streams` have (B, T) values of the steps.
    """

    samples: Samples
    labels: torch.Tensor
    rewards: torch.Tensor
    groups: torch.Tensor
    first: torch.Tensor
    rollouts: int
    tokens: int
    reward: float
    streams: dict[str, torch.Tensor] = field(default_factory=dict)


class _Answered(NamedTuple):
    """Responses, and the tokens that were sampled for them; of `samples` some of these may not be trained."""

    samples: Samples
    labels: torch.Tensor
    rewards: torch.Tensor
    tokens: int

    def of(self, rows: torch.Tensor) -> "_Answered":
        return _Answered(self.samples.of(rows), self.labels[rows], self.rewards[rows], self.tokens)


class Rollouts:
    """Samples step after step; the same beginning and settings draw the same prompts and random numbers.

    Args:
        beginning: whose policy is trained from one step to the next.
        settings: of the run.
        method: with its settings.
        pool: draws the prompts; None: each is drawn as often as any other.
    """

    def __init__(self, beginning: Beginning, settings: Settings, method: Method, pool: Pool | None = None) -> None:
        self._beginning, self._settings = beginning, settings
        self._rounds = method.rounds if isinstance(method, Dapo) else 1
        self._pool, self._step = pool, 0
        self._rewards = Rewards(beginning, settings)
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
        self._step += 1
        if self._pool is not None:
            self._pool.begin(self._step)
        size = self._settings.responses
        kept: list[_Answered] = []
        rollouts, tokens, right, missing = 0, 0, 0, self._settings.prompts
        for turn in range(1, self._rounds + 1):
            problems, rows = self._draw(missing)
            answered = self._answered(problems, size)
            labels = answered.labels
            if self._pool is not None:
                for row, some in zip(rows, labels.view(-1, size).sum(1).tolist(), strict=True):
                    self._pool.observe(row, some, size)
            rollouts, tokens = rollouts + len(labels), tokens + answered.tokens
            right += int(labels.sum())
            if turn == self._rounds:  # what is still missing is taken as it is
                kept.append(answered)
                break
            shares = labels.view(-1, size).mean(1)
            mixed = ((shares > 0) & (shares < 1)).repeat_interleave(size).nonzero()[:, 0]
            if len(mixed):
                kept.append(answered.of(mixed))
            missing -= len(mixed) // size
            if missing == 0:
                break
        samples = kept[0].samples if len(kept) == 1 else joined([each.samples for each in kept])
        labels = torch.cat([each.labels for each in kept])
        rewards = torch.cat([each.rewards for each in kept])
        groups = torch.arange(self._settings.prompts).repeat_interleave(size)
        first = torch.ones_like(groups, dtype=torch.bool)
        batch = Batch(samples, labels, rewards, groups, first, rollouts, tokens, right / rollouts)
        if self._settings.retrying.after is not None:
            return self._with_retries(batch, problems)
        if self._settings.valuing.completions is not None:
            return self._with_completions(batch, problems)
        return batch if self._settings.second_stage.schedule is None else self._with_second_stage(batch, problems)

    def _with_retries(self, batch: Batch, problems: Problems) -> Batch:
        """The batch with right retries in place of wrong responses (`recipes.laboratory.retries`)."""
        size = self._settings.responses
        samples, labels, rollouts, tokens = retried(
            self._sampler,
            self._beginning.tokenizer,
            batch.samples,
            batch.labels,
            problems.of(batch.groups.tolist()),
            self._settings.retrying,
            size=size,
            max_tokens=self._beginning.max_response_tokens,
            generator=self._generator,
        )
        return replace(
            batch,
            samples=samples,
            labels=labels,
            rewards=labels,
            rollouts=batch.rollouts + rollouts,
            tokens=batch.tokens + tokens,
        )

    def _with_completions(self, batch: Batch, problems: Problems) -> Batch:
        """The batch with completions of what stands between its steps (`recipes.laboratory.vine`)."""
        vine, samples = self._settings.valuing, batch.samples
        found = completed(
            self._sampler,
            self._beginning.tokenizer,
            samples,
            batch.groups,
            problems,
            vine,
            max_tokens=self._beginning.max_response_tokens,
            generator=self._generator,
        )
        if found is None:
            return batch
        batch = replace(
            batch,
            rollouts=batch.rollouts + len(found.labels),
            tokens=batch.tokens + int(found.samples.response_mask.sum()),
        )
        if not vine.train_completions:
            return replace(batch, streams=found.step_values(samples.response_mask))
        # A state's completions are a group, beside that of the prompt.
        of_prompts = torch.tensor([int(batch.groups[uses[0][0]]) for uses in found.before])
        states = torch.arange(len(found.before)) + int(batch.groups[-1]) + 1
        each = len(found.labels) // len(found.before)
        whose = torch.cat([batch.groups, of_prompts.repeat_interleave(each)])
        groups, order = torch.cat([batch.groups, states.repeat_interleave(each)]), whose.argsort(stable=True)
        first = torch.arange(len(groups)) < len(batch.labels)
        return replace(
            batch,
            samples=joined([samples, found.samples]).of(order),
            labels=torch.cat([batch.labels, found.labels])[order],
            rewards=torch.cat([batch.rewards, found.labels])[order],
            groups=groups[order].unique_consecutive(return_inverse=True)[1],
            first=first[order],
        )

    def _with_second_stage(self, batch: Batch, problems: Problems) -> Batch:
        """The batch with the further responses that its hard prompts get (`pacs.algorithm.dars`)."""
        dars, size = self._settings.second_stage, self._settings.responses
        assert dars.schedule is not None
        first = batch.labels.view(-1, size).tolist()
        further = torch.tensor([extra_responses(labels, dars.schedule, dars.most) for labels in first])
        if not further.any():
            return batch
        whose = torch.arange(len(first)).repeat_interleave(further)
        answered = self._answered(problems.of(whose.tolist()), 1)
        groups, order = torch.cat([batch.groups, whose]).sort(stable=True)
        return Batch(
            samples=joined([batch.samples, answered.samples]).of(order),
            labels=torch.cat([batch.labels, answered.labels])[order],
            rewards=torch.cat([batch.rewards, answered.rewards])[order],
            groups=groups,
            first=order < len(batch.labels),
            rollouts=batch.rollouts + len(answered.labels),
            tokens=batch.tokens + answered.tokens,
            reward=batch.reward,
        )

    def _draw(self, prompts: int) -> tuple[Problems, list[int]]:
        """Problems that are drawn anew, and their rows among those of training."""
        train = self._beginning.train
        rows = self._pool.draw(prompts) if self._pool else self._order.sample(range(len(train)), prompts)
        return train.of(rows), rows

    def _answered(self, problems: Problems, size: int) -> _Answered:
        """So many responses to each problem."""
        begun = self._beginning
        samples = sample(
            self._sampler,
            begun.tokenizer,
            problems.messages,
            samples=size,
            max_tokens=begun.max_response_tokens,
            generator=self._generator,
        )
        each = problems.of([row // size for row in range(len(samples))])
        labels = grade(samples.texts, each.answers, each.verifiers)
        rewards, trained = self._rewards.of(samples, labels, each)
        return _Answered(trained, labels, rewards, int(samples.response_mask.sum()))
