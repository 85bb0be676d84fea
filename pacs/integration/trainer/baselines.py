"""verl's own algorithms as runs of ours: `trainer.v1.trainer_mode=ppo`, `vcppo`, `grpo`, `dr_grpo` and others.

Advantages and losses are verl's, from verl's own settings; the name only says which of them the config is of.
"""

from typing import Any

import ray
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer

from pacs.integration.schema import BASELINES
from pacs.integration.trainer.arrangement import sampling_order
from pacs.integration.trainer.critic_returns import write_returns
from pacs.integration.trainer.grading import outcome
from pacs.integration.trainer.step_rows import columns, row_sums
from pacs.integration.trainer.synchronous import SynchronousTrainer
from pacs.integration.worker.not_finite import poison_error
from pacs.integration.worker.training import SKIPPED_IN_A_ROW, BaselineTrainingWorker, BaselineWorker


class BaselineTrainer(SynchronousTrainer):
    """Synchronous PPO or a relative of it.

    Args:
        config: verl's config with a `pacs` section; `pacs.integration.checks` has checked it.
    """

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        for role in self.role_worker_mapping:
            worker = BaselineTrainingWorker if role == Role.Critic else BaselineWorker
            self.role_worker_mapping[role] = ray.remote(worker)

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], **kwargs: Any) -> Any:
        """verl's, of rows in the same order in every run."""
        batch.reorder(sampling_order(batch.keys))
        return super()._balance_batch(batch, metrics, **kwargs)

    def _compute_old_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """verl's pass; its entropy is aggregated as the loss is, and is made one of tokens, as in all other runs."""
        batch = super()._compute_old_log_prob(batch, metrics)
        if "actor/entropy" in metrics and self.config.actor_rollout_ref.actor.loss_agg_mode != "token-mean":
            data = columns(batch, "entropy", "response_mask")
            rows = zip(data["entropy"].unbind(), data["response_mask"].unbind(), strict=True)
            total = sum((entropy * mask).sum().item() for entropy, mask in rows)
            metrics["actor/entropy"] = total / row_sums(data["response_mask"]).sum().item()
        return batch

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """verl's, once it is known that the verifier works."""
        self.grades = self.grading.grade(batch)
        metrics.update(self.grading.metrics(self.grades) | self.prompts.learn_rates(batch, self.grades))
        batch = super()._compute_advantage(batch, metrics)
        if (lam := self.config.run.critic.lam) is not None:
            write_returns(batch, self.config, lam)
        if self.use_critic:
            metrics["pacs/critic/pretraining_count"] = float(self.global_steps < self.config.trainer.critic_warmup)
        return batch

    def _update_critic(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._update_critic(batch, metrics)
        skipped = self._gradients("critic", metrics)["pacs/gradient/skipped_count"]
        metrics["pacs/gradient/critic_skipped_count"] = skipped
        return batch

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        batch = super()._update_actor(batch, metrics)
        metrics.update(self._gradients("actor", metrics))
        return batch

    def _gradients(self, part: str, metrics: dict[str, Any]) -> dict[str, float]:
        """Take what the worker said of its updates' gradients out of `metrics`; stop if too many were skipped."""
        prefix = f"{part}/"
        names = [name for name in metrics if name.startswith(f"{prefix}pacs/")]
        ours = {name.removeprefix(prefix): float(metrics.pop(name)) for name in names}
        in_a_row = int(ours.pop(SKIPPED_IN_A_ROW))
        if in_a_row >= self.config.run.faults.skipped_updates:
            raise poison_error(in_a_row, self.global_steps)
        return ours

    def _compute_metrics(self, batch: Any, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """verl's: the scores are what the verifier said, as in all other runs, the rewards what was trained on."""
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        metrics.update(outcome(self.grading.sampled(self.grades).scores, "score"))


for _name in BASELINES:
    register_trainer(_name)(BaselineTrainer)
