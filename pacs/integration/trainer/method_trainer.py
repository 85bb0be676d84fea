"""The trainer of all our methods: verl's synchronous loop (`synchronous.py`) with our step (`step.py`) in it."""

from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer

from pacs.algorithm import ReferenceSchedule
from pacs.algorithm.distillation import teacher_of
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.saving import ReferenceCheckpoints
from pacs.integration.schema import method_in
from pacs.integration.strategy import Choice
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.grading import outcome
from pacs.integration.trainer.ranks import logged_as
from pacs.integration.trainer.step import training_step
from pacs.integration.trainer.synchronous import SynchronousTrainer
from pacs.integration.worker.adapters import AdapterWorker
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from pacs.integration.worker.not_finite import SkippedUpdates
from pacs.integration.worker.teacher import worker_of
from pacs.verl_keys.config import has_adapters


@register_trainer("pacs")
class MethodTrainer(SynchronousTrainer):
    """Synchronous training by a method of `pacs.algorithm`.

    Args:
        config: verl's config with a `pacs` section; `pacs.integration.checks` has checked it.
    """

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        self.method = method_in(config)
        self.reference = ReferenceSchedule(self.method.reference)
        self.last_choice: Choice | None = None
        self.grades: Grades
        self.memory: dict[str, float] = {}
        self.skipped = SkippedUpdates(config.run.faults.skipped_updates)
        self.references = ReferenceCheckpoints(self.saving.folder)

    def _step_once(self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int) -> Any:
        """Ours in the place of verl's."""
        return training_step(self, metrics, timing_raw, sample_batch_size)

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        # verl sees no reference policy, and so asks for no pass of it; the worker has one, and makes its own.
        pool = self.mapping.pop(Role.ActorRollout)
        del self.role_worker_mapping[Role.ActorRollout]
        role, worker = Role.ActorRollout, MethodWorker
        if teacher := teacher_of(self.method):
            role, worker = Role.ActorRolloutRef, worker_of(teacher)
        elif self.reference.needs_model and has_adapters(self.config):
            worker = AdapterWorker
        elif self.reference.needs_model:
            role = Role.ActorRolloutRef
        self.role_worker_mapping[role] = ray.remote(worker)
        self.mapping[role] = pool

    def on_init_end(self) -> None:
        """Give the workers the method's loss, then (as verl does) the engine its weights."""
        self.actor_rollout_wg.set_loss_fn(MethodLoss(self.method))
        self.data_parallel_size = max(self.actor_rollout_wg._query_dispatch_info("actor")) + 1
        super().on_init_end()

    def _compute_metrics(self, batch: Any, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """verl's metrics of the step, less what our methods do not have.

        The scores are what the verifier said of all first responses, the rewards what was trained on.
        """
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        sampled = self.grading.sampled(self.grades)
        metrics.update(outcome(sampled.scores[sampled.first], "score"))
        metrics.update(outcome(self.grades.rewards[self.grades.first], "rewards"))
        for name in [name for name in metrics if name.startswith(("critic/advantages/", "critic/returns/"))]:
            del metrics[name]

    def save_algorithm_state(self, folder: Path) -> str | None:
        """The reference: its schedule, and its weights if no checkpoint before has stored them."""
        return self.references.save(folder, self.reference, self.actor_rollout_wg)

    def load_algorithm_state(self, checkpoint: Checkpoint) -> None:
        """Take up the reference, and what the token weight carries, which the step's metrics hold."""
        self.references.load(checkpoint, self.reference, self.actor_rollout_wg)
        weight, metrics = self.method.token_weight.chosen, self.saving.resumed_metrics or {}
        for name in () if weight is None else weight.REMEMBERS:
            if logged_as(name) in metrics:
                self.memory[name] = metrics[logged_as(name)]
