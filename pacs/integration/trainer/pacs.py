"""PACS as a verl trainer: `trainer.v1.trainer_mode=pacs`.

The loop is verl's synchronous one. What differs is said by the methods overridden here: which worker runs, how
rows are arranged, which passes are left out, and what happens to the reference after an update.
"""

from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils.metric import reduce_metrics
from verl.utils.seqlen_balancing import calculate_workload, log_seqlen_unbalance

from pacs.algorithm import ReferenceSchedule, method_of
from pacs.base.terminal import print
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.reference import ReferenceCheckpoints
from pacs.integration.exchange import TABLES, StepSettings, tables_of
from pacs.integration.schema import algorithm_section
from pacs.integration.strategy import Choice, choose
from pacs.integration.trainer.base import SynchronousTrainer
from pacs.integration.trainer.batching import blocks_of, padded_row_count, row_order, sampling_order
from pacs.integration.trainer.step_rows import is_padding, prompt_uid, step_rows
from pacs.integration.worker.loss import PacsPolicyLoss
from pacs.integration.worker.not_finite import BATCH_FIELDS, SkippedUpdates, poison_error, write_evidence
from pacs.integration.worker.workers import PacsWorker
from pacs.metrics import gradient_metrics, update_metrics

#: Streams that verl's pass of log pi_old writes.
OF_OLD_LOG_PROBS = frozenset({"old_log_probs", "entropy"})


@register_trainer("pacs")
class PacsTrainer(SynchronousTrainer):
    """Synchronous PACS.

    Args:
        config: verl's config with a `pacs` section; `pacs.integration.checks` has checked it.
    """

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        self.method = method_of(algorithm_section(config))
        self.reference = ReferenceSchedule(self.method.reference)
        self.choice = choose(config, 0)
        self.announced = False
        self.skipped = SkippedUpdates(config.pacs.faults.skipped_updates)
        self.references = ReferenceCheckpoints(self.saving.folder)

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        # verl sees no reference policy, and so asks for no pass of it; the worker has one, and makes its own.
        pool = self.mapping.pop(Role.ActorRollout)
        del self.role_worker_mapping[Role.ActorRollout]
        role = Role.ActorRolloutRef if self.reference.needs_model else Role.ActorRollout
        self.role_worker_mapping[role] = ray.remote(PacsWorker)
        self.mapping[role] = pool

    def on_init_end(self) -> None:
        """Give the workers PACS's loss, then (as verl does) the engine its weights."""
        self.actor_rollout_wg.set_loss_fn(PacsPolicyLoss(self.method))
        self.data_parallel_size = max(self.actor_rollout_wg._query_dispatch_info("actor")) + 1
        super().on_init_end()

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], **kwargs: Any) -> Any:
        """Choose the step's strategy and arrange the rows for it, filled up with padding (see `batching`)."""
        layout = {
            "group_size": self.config.actor_rollout_ref.rollout.n,
            "groups_per_mini_batch": self.config.actor_rollout_ref.actor.ppo_mini_batch_size,
        }
        batch.reorder(sampling_order(batch.keys))
        rows = padded_row_count([prompt_uid(key) for key in batch.keys], **layout)
        if rows > len(batch):
            # Padding a batch that is smaller than the "multiple" fills it up to just that size.
            batch = upsample_batch_to_divisible_size(batch, rows, self.tokenizer.eos_token_id)
        uids = [None if is_padding(tag) else prompt_uid(key) for key, tag in zip(batch.keys, batch.tags, strict=True)]
        lengths = [tag["seq_len"] for tag in batch.tags]
        largest = max(sum(lengths[row] for row in block) for block in blocks_of(uids, layout["group_size"]))
        self._take_strategy(choose(self.config, largest))
        order, parts = row_order(
            uids,
            calculate_workload(torch.tensor(lengths, dtype=torch.int64)).tolist(),
            ranks=self.data_parallel_size,
            whole_groups=self.choice.strategy == "grouped",
            **layout,
        )
        batch.reorder(order)
        metrics.update(log_seqlen_unbalance(lengths, parts, prefix="global_seqlen"))
        return batch

    def _take_strategy(self, choice: Choice) -> None:
        if not self.announced or choice.strategy != self.choice.strategy:
            print(f"pacs: step {self.global_steps}: update strategy {choice.strategy}: {choice.reason}", flush=True)
            self.announced = True
        self.choice = choice

    def _compute_old_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """No pass: PACS needs no log pi_old. At the interval the user asked for, verl's pass for its metrics."""
        return super()._compute_old_log_prob(batch, metrics) if self._wants_old_log_probs() else batch

    def _wants_old_log_probs(self) -> bool:
        every = self.method.metrics.old_log_prob_every
        wanted = every is not None and self.global_steps % every == 0
        return wanted or not OF_OLD_LOG_PROBS.isdisjoint(self.method.READS)

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Labels, groups and weights of the whole train batch, which the loss on the workers needs."""
        grades = self.grading.grade(batch)
        rows, alone = step_rows(
            grades.group_ids, ~grades.sampled, grades.rewards, self.method, grades.tokens, self._streams(batch)
        )
        metrics.update(self.grading.metrics(grades, alone))
        # verl's metrics read advantages; PACS has none on this side, and `_compute_metrics` leaves them out.
        none = torch.zeros(len(batch), 1)
        columns = rows.pack() | {"advantages": none, "returns": none}
        return tq.kv_batch_put(
            keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(columns, batch_size=len(batch))
        )

    def _streams(self, batch: Any) -> Any:
        """What the method reads of each token, jagged; None where it reads nothing."""
        if not self.method.READS:
            return None
        names = ["response_mask", *self.method.READS]
        return tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=names)

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Update the policy on every mini-batch, then reset the reference if a trigger fires."""
        actor, n = self.config.actor_rollout_ref.actor, self.config.actor_rollout_ref.rollout.n
        entropy_every = self.method.metrics.entropy_every
        batch.extra_info.update(
            {
                "calculate_entropy": entropy_every is not None and self.global_steps % entropy_every == 0,
                "global_batch_size": actor.ppo_mini_batch_size * n,
                "mini_batch_size": actor.ppo_mini_batch_size * n,
                "epochs": actor.ppo_epochs,
                "seed": actor.data_loader_seed,
                "dataloader_kwargs": {"shuffle": False},
                "temperature": self.config.actor_rollout_ref.rollout.temperature,
            }
            | StepSettings(
                strategy=self.choice.strategy,
                reference_is_policy=self.reference.is_policy,
                learning_rate_factor=self.reference.learning_rate_factor(self.global_steps),
            ).pack()
        )
        if self.choice.strategy == "grouped":
            batch.extra_info["force_group_size"] = n
            if not actor.use_dynamic_bsz:
                # With forced groups verl counts a static micro-batch in groups.
                batch.extra_info["micro_batch_size_per_gpu"] = actor.ppo_micro_batch_size_per_gpu // n
        output = self.actor_rollout_wg.update_actor(batch)
        self._stop_at_poison(batch, output["metrics"])
        metrics.update(self._update_metrics(output["metrics"]))
        self._after_updates(metrics)
        return batch

    def _stop_at_poison(self, batch: Any, returned: dict[str, Any]) -> None:
        """End the run if too many updates in a row were skipped, with what this step saw on disk."""
        if not self.skipped.add(returned["grad_norm"]):
            return
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=list(BATCH_FIELDS))
        evidence = write_evidence(
            self.run_dir,
            step=self.global_steps,
            skipped_in_a_row=self.skipped.most,
            batch=data,
            padding=[is_padding(tag) for tag in batch.tags],
            returned=returned,
            tokenizer=self.tokenizer,
        )
        raise poison_error(self.skipped.most, self.global_steps, evidence)

    def _update_metrics(self, returned: dict[str, Any]) -> dict[str, float]:
        """The workers' metrics under the names they are logged by."""
        clip = self.config.actor_rollout_ref.actor.optim.clip_grad
        ours: dict[str, float] = update_metrics(tables_of(returned)) | {
            "pacs/update/cached_fraction": float(self.choice.strategy == "cached"),
            "pacs/update/learning_rate_mean": returned.pop("learning_rate"),
            "perf/mfu/actor": float(np.mean(returned.pop("mfu"))),
        }
        ours |= gradient_metrics(returned["grad_norm"], clip)
        for name in ("timing_s/reference_pass", "timing_s/policy_pass"):
            ours[name] = returned.pop(name)
        # The value of the loss function is the surrogate's under `cached`; pacs/loss_mean is Eq. 8's.
        del returned["loss"], returned[TABLES]
        return ours | {f"actor/{name}": value for name, value in reduce_metrics(returned).items()}

    def _after_updates(self, metrics: dict[str, Any]) -> None:
        event = self.reference.after_updates(
            self.global_steps,
            saturated=metrics.get("pacs/saturated_fraction", 0.0),
            log_ratio=metrics.get("pacs/log_ratio/sequence_mean", 0.0),
        )
        metrics["pacs/reference/reset_count"] = float(event is not None)
        if event is not None:
            self.references.forget()
            self.actor_rollout_wg.reset_reference(self.method.reference.reset_optimizer)
            value = "" if event.trigger == "reset_every" else f": {event.value:g}"  # else it is the step again
            if self.method.reference.reset_every != 1:  # else it would be said of every step
                print(f"pacs: step {event.step}: the reference is now the policy ({event.trigger}{value})", flush=True)

    def _compute_metrics(self, batch: Any, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """verl's metrics of the step, less those of what PACS does not have."""
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        absent: tuple[str, ...] = ("critic/advantages/", "critic/returns/")
        if not self._wants_old_log_probs():
            absent += ("timing_s/old_log_prob",)
        for name in [name for name in metrics if name.startswith(absent)]:
            del metrics[name]

    def save_algorithm_state(self, folder: Path) -> str | None:
        """The reference: its schedule, and its weights if no checkpoint before has stored them."""
        return self.references.save(folder, self.reference, self.actor_rollout_wg)

    def load_algorithm_state(self, checkpoint: Checkpoint) -> None:
        """Take up the reference."""
        self.references.load(checkpoint, self.reference, self.actor_rollout_wg)
