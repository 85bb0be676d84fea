"""A step's updates: the policy, what it is compared with, and Adam, for every method."""

import copy
import math

import torch
from transformers import PreTrainedModel

from pacs.algorithm import (
    Method,
    ReferenceSchedule,
    batch_constants,
    correction_weights,
    method_loss,
    scale_gradient,
)
from pacs.algorithm.aggregated import Aggregated
from pacs.algorithm.carried import rank_stride, remembered
from pacs.algorithm.distillation import TEACHER
from pacs.algorithm.oar import SENSITIVITY
from recipes.laboratory.mini_batches import CUTS
from recipes.laboratory.ppo import ADVANTAGES, Critic, Ppo, Values
from recipes.laboratory.reading import (
    answer_sensitivity,
    effective_ranks,
    hidden_states,
    log_probs,
    mean_entropy_slopes,
)
from recipes.laboratory.rollouts import Batch
from recipes.laboratory.sampling import Samples
from recipes.laboratory.seconds import Clock
from recipes.laboratory.settings import RANKS, SLOPES, STATES, Settings
from recipes.laboratory.signals import Updated

#: |sigma(psi) - R| below which a row counts as saturated, as in a run of `pacs train`.
SATURATED_RESIDUAL = 0.01


class Learner:
    """Trains a policy in place.

    Args:
        policy: the start; also the first reference, where the method has one.
        settings: of the run.
        method: with its settings.
        max_response_tokens: of a response.
        clock: is told what the reference takes.
        critic: of PPO, one that has learned before; None: a new one.
        teacher: of distillation.
    """

    def __init__(
        self,
        policy: PreTrainedModel,
        settings: Settings,
        method: Method,
        max_response_tokens: int,
        clock: Clock,
        critic: Critic | None = None,
        teacher: PreTrainedModel | None = None,
    ) -> None:
        if isinstance(method, Aggregated):
            method = method.model_copy(update={"max_response_tokens": max_response_tokens})
        self._policy, self._settings, self._method, self._clock = policy, settings, method, clock
        self._schedule = ReferenceSchedule(method.reference)
        #: Whether each response was sampled by the policy of its step, behind the prompt that it is trained with.
        self._own_samples = settings.staleness == 0 and not settings.guided
        self._reference = copy.deepcopy(policy) if self._schedule.needs_model else None
        self._teacher = teacher
        self._values = Values(policy, method, settings.clip_grad, critic) if isinstance(method, Ppo) else None
        self._memory: dict[str, float] = {}
        self._new_optimizer()

    def step(self, step: int, batch: Batch) -> Updated:
        """The updates of step `step` (from 1) on its batch, and the reset of the reference where it is due.

        Raises:
            ValueError: the policy has diverged: a log-probability is not finite.
        """
        # Without staleness the policy sampled these itself, and where it is the reference, too, nothing is read twice.
        by_model = self._reference is not None and not (self._own_samples and self._schedule.is_policy)
        retries = bool(self._settings.guided)
        at_start = self._at_start(batch.samples) if retries or not (self._own_samples or by_model) else None
        mask, streams = batch.samples.response_mask, self._streams(batch)
        if retries:
            assert at_start is not None
            streams["old_log_probs"] = at_start
        constants = batch_constants(
            batch.rewards,
            batch.groups,
            self._method,
            response_mask=mask,
            streams=streams,
            equal_groups=self._settings.second_stage.scale,
            memory=self._memory,
        )
        everyone = torch.ones_like(batch.groups, dtype=torch.bool)
        self._memory = remembered(self._method, mask, everyone, streams, self._memory)
        weights = self._correction(batch.samples, at_start)
        losses, norms, columns = [], [], []
        cut = CUTS[self._settings.mini_batches]
        update_of = cut(batch.rewards, batch.groups, self._settings.updates_per_step)
        for number in range(self._settings.updates_per_step):
            rows = (update_of == number).nonzero()[:, 0]
            part = batch.samples.of(rows)
            reference = self._log_probs_of(self._reference, part) if by_model else part.log_probs
            if at_start is not None and not by_model:
                reference = at_start[rows, : part.response_mask.shape[1]]
            policy_log_probs = log_probs(self._policy, part)
            if number == 0 and not by_model and (at_start is not None or self._own_samples):
                reference = policy_log_probs.detach()  # the same to the last bit, so that its scores are 0
            if weights is not None:
                policy_log_probs = scale_gradient(policy_log_probs, weights[rows, : part.response_mask.shape[1]])
            known_before = constants.of(rows)
            if self._values is not None:
                self._values.update(part, rows, float(known_before.shares.sum()))
            loss, known = method_loss(
                policy_log_probs,
                reference,
                part.response_mask,
                batch.rewards[rows],
                batch.groups[rows],
                self._method,
                constants=known_before.cut(part.response_mask.shape[1]),
            )
            losses.append(loss.item())
            if isinstance(self._method, Ppo) and step < self._method.first_update:
                norms.append(0.0)
            else:
                norms.append(self._descend(step, loss))
            columns.append(known)
        rows_known = {name: torch.cat([known[name] for known in columns]) for name in columns[0]}
        explained = None if self._values is None else self._values.explained_variance
        return Updated(losses, norms, rows_known, self._reset(step, rows_known), explained)

    def _streams(self, batch: Batch) -> dict[str, torch.Tensor]:
        """What the method and its token weight may read of each token: of the policy that sampled, or of a critic."""
        samples = batch.samples
        streams = dict.fromkeys(("old_log_probs", "rollout_log_probs"), samples.log_probs)
        streams["entropy"] = samples.entropies
        if SLOPES in self._method.reads:
            with torch.no_grad():
                streams[SLOPES] = mean_entropy_slopes(self._policy, samples)
        if (stride := rank_stride(self._method)) is not None:
            streams[RANKS] = effective_ranks(self._policy, samples, stride)
        if STATES in self._method.reads:
            streams[STATES] = hidden_states(self._policy, samples)
        if SENSITIVITY in self._method.reads:
            streams[SENSITIVITY] = answer_sensitivity(self._policy, samples, self._method.token_weight.oar.answer)
        if self._teacher is not None:
            streams[TEACHER] = self._log_probs_of(self._teacher, samples)
        if self._values is not None:
            streams[ADVANTAGES] = self._values.judge(samples, batch.rewards)
        return streams | batch.streams

    def _at_start(self, samples: Samples) -> torch.Tensor | None:
        """log pi of stale samples by the policy before the step's first update: the reference where `reset_every` is 1.

        None where the reference has to be the policy that sampled. With retries it is the policy behind the prompt
        itself, as in a run of `pacs train`, which computes log-probabilities anew. With a correction, too: its weights
        are the ratio of this policy to the one that sampled, which a ratio to the latter would have a second time.
        """
        corrected = self._method.update.correction.active
        with_sampler = (self._method.compares_with_sampler and not corrected) or self._settings.reference_is_sampler
        return None if with_sampler and not self._settings.guided else self._log_probs_of(self._policy, samples)

    def _correction(self, samples: Samples, at_start: torch.Tensor | None) -> torch.Tensor | None:
        """(B, T) what `update.correction` multiplies the gradient of stale samples' tokens by; None: nothing."""
        correction = self._method.update.correction
        if not correction.active or self._own_samples:
            return None
        old = self._log_probs_of(self._policy, samples) if at_start is None else at_start
        return correction_weights(old, samples.log_probs, samples.response_mask, correction)

    def _log_probs_of(self, model: PreTrainedModel | None, samples: Samples) -> torch.Tensor:
        assert model is not None
        with self._clock.of("reference"), torch.no_grad():
            return log_probs(model, samples)

    def _new_optimizer(self) -> None:
        """Adam without moments; the warm-up of its learning rate begins with it."""
        self._optimizer = torch.optim.AdamW(self._policy.parameters(), lr=self._settings.lr, weight_decay=0.0)
        self._updates = 0

    def _descend(self, step: int, loss: torch.Tensor) -> float:
        """An update; the gradient's norm before it is clipped."""
        self._optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self._policy.parameters(), self._settings.clip_grad)
        self._updates += 1
        warm = min(1.0, self._updates / max(1, self._settings.lr_warmup_updates))
        done = (step - 1) / self._settings.steps
        decay = (1 + math.cos(math.pi * done)) / 2 if self._settings.lr_decay else 1.0
        for group in self._optimizer.param_groups:
            group["lr"] = self._settings.lr * warm * decay * self._schedule.learning_rate_factor(step)
        self._optimizer.step()
        return float(norm)

    def _reset(self, step: int, rows: dict[str, torch.Tensor]) -> bool:
        """Replace the reference where that is due after the updates of a step."""
        saturated, active = 0.0, rows.get("active", torch.ones_like(rows["log_ratio"])) != 0
        if "score" in rows:
            residuals = (rows["score"].sigmoid() - rows["correct"])[active].abs()
            saturated = float((residuals < SATURATED_RESIDUAL).float().mean())
        log_ratio = float(rows["log_ratio"][active].mean())
        event = self._schedule.after_updates(step, saturated=saturated, log_ratio=log_ratio)
        if event is None:
            return False
        if self._reference is not None:
            self._reference.load_state_dict(self._policy.state_dict())
        if self._method.reference.reset_optimizer:
            self._new_optimizer()
        return True
