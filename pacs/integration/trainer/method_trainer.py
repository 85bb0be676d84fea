"""The trainer of all our methods: verl's synchronous loop (`synchronous.py`) with our step (`step.py`) in it."""

from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.utils import tensordict_utils as tu

from pacs.algorithm import ReferenceSchedule
from pacs.algorithm.distillation import teacher_of
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.saving import ReferenceCheckpoints
from pacs.integration.exchange import SUCCESS_RATE
from pacs.integration.schema import method_in
from pacs.integration.strategy import Choice
from pacs.integration.trainer.effective_ranks import logged_as
from pacs.integration.trainer.generative_critic import GenerativeCritic
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.grading import outcome
from pacs.integration.trainer.step import training_step
from pacs.integration.trainer.synchronous import SynchronousTrainer
from pacs.integration.worker.adapters import AdapterWorker
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from pacs.integration.worker.not_finite import SkippedUpdates
from pacs.integration.worker.teacher import worker_of
from pacs.verl_keys.config import has_adapters, has_generative_critic


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
        self.critic = GenerativeCritic(self) if has_generative_critic(config) else None

    def _step_once(self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int) -> Any:
        """Ours in place of verl's."""
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

    def _load_checkpoint(self) -> None:
        if self.critic is not None:
            self.critic.start()
        super()._load_checkpoint()

    def on_init_end(self) -> None:
        """Give the workers the method's loss, then (as verl does) the engine its weights."""
        self.actor_rollout_wg.set_loss_fn(MethodLoss(self.method))
        self.data_parallel_size = max(self.actor_rollout_wg._query_dispatch_info("actor")) + 1
        super().on_init_end()
        if self.critic is not None:
            self.critic.wake()
            self.critic.probe()

    def get_llm_client(self) -> Any:
        """verl's, with that of the critic's engines beside it."""
        client = super().get_llm_client()
        if self.critic is not None:
            client.critic = self.critic.engines.get_client()
        return client

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        batch = super()._next_train_batch(num_prompts)
        if self.critic is not None:
            tu.assign_non_tensor_data(batch, SUCCESS_RATE, self.critic.rate.rate)
        return batch

    def on_sample_end(self) -> None:
        """Let the engines put their memory away."""
        super().on_sample_end()
        if self.critic is not None:
            self.critic.sleep()

    def on_step_end(self) -> None:
        """verl's; the critic's engine gets its weights, too."""
        super().on_step_end()
        if self.critic is not None:
            self.critic.wake()

    def _validate(self) -> dict[str, Any]:
        metrics = super()._validate()
        if self.critic is not None and metrics:
            self.critic.learn_first_rate(metrics)
        return metrics

    def _compute_metrics(self, batch: Any, metrics: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """verl's metrics of the step, less what our methods do not have.

        The scores are what the verifier said of all first responses, the rewards what was trained on.
        """
        super()._compute_metrics(batch, metrics, *args, **kwargs)
        sampled = self.grading.sampled(self.grades)
        metrics.update(outcome(sampled.scores[sampled.first], "score"))
        metrics.update(outcome(self.grades.rewards[self.grades.first], "rewards"))
        # A resumed run goes on with these; of a number verl has made its mean, which may differ in the last bit.
        metrics.update({logged_as(name): value for name, value in self.memory.items()})
        for name in [name for name in metrics if name.startswith(("critic/advantages/", "critic/returns/"))]:
            del metrics[name]

    def save_algorithm_state(self, folder: Path) -> str | None:
        """The reference: its schedule, and its weights if no checkpoint before has stored them."""
        if self.critic is not None:
            self.critic.save(folder)
        return self.references.save(folder, self.reference, self.actor_rollout_wg)

    def load_algorithm_state(self, checkpoint: Checkpoint) -> None:
        """Take up the reference, and what the token weight carries, which the step's metrics hold."""
        self.references.load(checkpoint, self.reference, self.actor_rollout_wg)
        if self.critic is not None:
            self.critic.load(checkpoint)
        weight, metrics = self.method.token_weight.chosen, self.saving.resumed_metrics or {}
        for name in () if weight is None else weight.REMEMBERS:
            if logged_as(name) in metrics:
                self.memory[name] = metrics[logged_as(name)]
