"""PACS as a verl trainer: `trainer.v1.trainer_mode=pacs`.

The loop is verl's synchronous one. What differs is said by the methods overridden here: which worker runs, how
rows are arranged, what stands in for advantages, and what happens to the reference after an update.
"""

from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
import transfer_queue as tq
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.seqlen_balancing import calculate_workload, log_seqlen_unbalance
from verl.workers.utils.padding import response_to_nested

from pacs.algorithm import (
    PacsConfig,
    class_balance_weights,
    counted_rows,
    effective_advantages,
    log_ratio_rewards,
)
from pacs.integration.batching import group_order, padded_row_count
from pacs.integration.loss import (
    COUNTED,
    GROUP_IDS,
    LABELS,
    METRIC_PREFIX,
    ROW_MASK,
    WEIGHTS,
    pacs_policy_loss,
)
from pacs.integration.run_log import RunLog
from pacs.integration.schema import algorithm_section
from pacs.integration.worker import PacsWorker

#: Seconds between two looks at whether the rollouts are done; verl's 2 s would be most of a tiny model's step.
ROLLOUT_POLL_SECONDS = 0.2


@register_trainer("pacs")
class PacsTrainer(PPOTrainerSync):
    """Synchronous PACS.

    Args:
        config: verl's config with a `pacs` section; `pacs.integration.checks` has checked it.
    """

    def __init__(self, config: DictConfig) -> None:
        self.pacs_config = PacsConfig.from_mapping(algorithm_section(config))
        super().__init__(config)
        self.use_reference_policy = True

    # verl compares the mode with "sync" by name, and takes any other for an asynchronous one. PACS is synchronous.
    @property
    def trainer_mode(self) -> str:
        """The mode verl's loop sees."""
        return "sync"

    @trainer_mode.setter
    def trainer_mode(self, registered_name: str) -> None:
        """verl sets the registered name; it stays in the config."""

    # verl makes its Tracking inside fit(); the run's own log joins it there.
    @property
    def logger(self) -> Any:
        """verl's Tracking."""
        return self._logger

    @logger.setter
    def logger(self, tracking: Any) -> None:
        tracking.logger["pacs"] = RunLog(
            Path(self.config.pacs.run_dir) / "metrics.jsonl",
            resumed_step=self.global_steps,
            total_steps=self.total_training_steps,
        )
        self._logger = tracking

    def _build_replay_buffer(self) -> Any:
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = ROLLOUT_POLL_SECONDS
        return buffer

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        actor_roles = [role for role in (Role.ActorRollout, Role.ActorRolloutRef) if role in self.mapping]
        for role in actor_roles:
            del self.role_worker_mapping[role]
            pool = self.mapping.pop(role)
        self.role_worker_mapping[Role.ActorRolloutRef] = ray.remote(PacsWorker)
        self.mapping[Role.ActorRolloutRef] = pool

    def on_init_end(self) -> None:
        """Give the workers PACS's loss, then (as verl does) the engine its weights."""
        self.actor_rollout_wg.set_loss_fn(partial(pacs_policy_loss, self.pacs_config))
        self.data_parallel_size = max(self.actor_rollout_wg._query_dispatch_info("actor")) + 1
        super().on_init_end()

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], **kwargs: Any) -> Any:
        """Arrange whole groups over mini-batches and ranks, filled up with padding rows (see `batching`)."""
        layout = {
            "group_size": self.config.actor_rollout_ref.rollout.n,
            "groups_per_mini_batch": self.config.actor_rollout_ref.actor.ppo_mini_batch_size,
        }
        rows = padded_row_count([prompt_uid(key) for key in batch.keys], **layout)
        if rows > len(batch):
            # Padding a batch that is smaller than the "multiple" fills it up to just that size.
            batch = upsample_batch_to_divisible_size(batch, rows, self.tokenizer.eos_token_id)
        uids = [
            None if tag.get("is_padding", False) else prompt_uid(key)
            for key, tag in zip(batch.keys, batch.tags, strict=True)
        ]
        lengths = torch.tensor([tag["seq_len"] for tag in batch.tags], dtype=torch.int64)
        order, parts = group_order(uids, calculate_workload(lengths).tolist(), ranks=self.data_parallel_size, **layout)
        batch.reorder(order)
        metrics.update(log_seqlen_unbalance(lengths.tolist(), parts, prefix="global_seqlen"))
        return batch

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Labels, groups and weights of the whole train batch, and its effective advantages at the step's start.

        The loss on the workers needs the former; the latter stand where verl logs advantages.
        """
        fields = ["response_mask", "rm_scores", "old_log_probs", "ref_log_prob"]
        nested = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        response_mask = nested["response_mask"]
        data = nested.to_padded_tensor()
        padding = torch.tensor([tag.get("is_padding", False) for tag in batch.tags])
        group_ids = dense_ids([prompt_uid(key) for key in batch.keys])
        labels = data["rm_scores"].sum(dim=-1)
        sizes = torch.bincount(group_ids[~padding], minlength=int(group_ids.max()) + 1)
        # A group of one has nothing to be compared with: its other responses failed to be generated.
        alone = ~padding & (sizes[group_ids] < 2)
        row_mask = ~padding & ~alone

        config = self.pacs_config
        check_labels(labels[row_mask])
        counted = counted_rows(labels, group_ids, config, row_mask=row_mask)
        weights = class_balance_weights(labels, group_ids, scope=config.weight_scope, row_mask=counted)
        rewards = log_ratio_rewards(
            data["old_log_probs"],
            data["ref_log_prob"],
            data["response_mask"],
            beta=config.beta,
            normalize_by_length=config.normalize_by_length,
        )
        advantages = effective_advantages(
            rewards,
            labels,
            weights,
            group_ids,
            beta=config.beta,
            estimator=config.estimator,
            lengths=data["response_mask"].sum(dim=-1) if config.normalize_by_length else None,
            row_mask=row_mask,
        )
        metrics["pacs/rows_alone"] = int(alone.sum())
        token_advantages = response_to_nested(
            advantages[:, None].float() * data["response_mask"].float(), response_mask
        )
        rows = {
            LABELS: labels,
            GROUP_IDS: group_ids,
            WEIGHTS: weights,
            ROW_MASK: row_mask,
            COUNTED: counted,
            "advantages": token_advantages,
            "returns": token_advantages,
        }
        return tq.kv_batch_put(
            keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(rows, batch_size=len(batch))
        )

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Update the policy on whole groups, then reset the reference if this step's number says so."""
        group_size = self.config.actor_rollout_ref.rollout.n
        batch.extra_info["force_group_size"] = group_size
        if not self.config.actor_rollout_ref.actor.use_dynamic_bsz:
            # With forced groups verl counts a static micro-batch in groups.
            responses = self.config.actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu
            batch.extra_info["micro_batch_size_per_gpu"] = responses // group_size
        batch = super()._update_actor(batch, metrics)
        metrics.update(final_metrics(metrics))
        reference = self.pacs_config.reference
        if reference.reset_every is not None and self.global_steps % reference.reset_every == 0:
            self.actor_rollout_wg.reset_reference(reference.reset_optimizer)
            metrics["pacs/reference/reset"] = 1.0
        return batch

    def _log_rollout_data(self, batch: Any, timing_raw: dict[str, float], rollout_data_dir: str) -> None:
        """Write the responses of the step's first groups; all of them would be gigabytes a day."""
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        uids = list(dict.fromkeys(prompt_uid(key) for key in keys))[: self.config.pacs.sample_groups]
        if uids:
            sample = batch.select_keys([key for key in keys if prompt_uid(key) in uids])
            super()._log_rollout_data(sample, timing_raw, rollout_data_dir)

    def _save_checkpoint(self) -> None:
        """Save the reference too, before verl writes the marker that makes the checkpoint count."""
        folder = Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"
        self.actor_rollout_wg.save_reference(str(folder / "reference"))
        super()._save_checkpoint()

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps > 0:
            folder = loaded_checkpoint(self.config, self.global_steps)
            self.actor_rollout_wg.load_reference(str(folder / "reference"))


def loaded_checkpoint(config: DictConfig, step: int) -> Path:
    """The checkpoint verl resumed from: the one it was told, or that of `step` in the run's own folder."""
    if config.trainer.resume_mode == "resume_path":
        return Path(config.trainer.resume_from_path).absolute()
    return Path(config.trainer.default_local_dir) / f"global_step_{step}"


def prompt_uid(row_key: str) -> str:
    """The prompt's id in verl's row key `{uid}_{session}_{output}`."""
    return row_key.rsplit("_", 2)[0]


def dense_ids(uids: list[str]) -> torch.Tensor:
    """Number the prompts in the order of their first row; shape (B,), int64."""
    index: dict[str, int] = {}
    return torch.tensor([index.setdefault(uid, len(index)) for uid in uids])


def check_labels(labels: torch.Tensor) -> None:
    """Raise ValueError unless every reward is 0 or 1."""
    others = labels[(labels != 0) & (labels != 1)].unique()
    if len(others):
        raise ValueError(
            f"PACS trains on labels of 0 and 1, but the reward function returned {others[:5].tolist()}. Set "
            "reward.custom_reward_function to a verifier whose score is 0.0 or 1.0, as pkg://pacs.rewards.math is."
        )


def final_metrics(metrics: dict[str, Any]) -> dict[str, float]:
    """Take the loss's sums out of `metrics` and return what is logged: means, under `pacs/`."""
    sums = {key.removeprefix(METRIC_PREFIX): metrics.pop(key) for key in list(metrics) if METRIC_PREFIX in key}
    final = {}
    for label in ("correct", "wrong"):
        score, rows = sums.pop(f"score_sum_{label}"), sums.pop(f"rows_{label}")
        if rows:
            final[f"pacs/score/{label}/mean"] = score / rows
        sums[f"rows/{label}"] = rows
    return final | {f"pacs/{name}": value for name, value in sums.items()}
