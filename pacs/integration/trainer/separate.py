"""Engines on GPUs of their own (`actor_rollout_ref.rollout.nnodes`), which sample while the policy is updated.

verl's separate_async within our synchronous loop: its engines without a trainer, and its transfer of weights. After
each step requests are broken off, every engine gets the weights, and the requests go on. With partial rollouts
(`partial.py`) the prompts of the next step are sampled during the update; without them the engines wait for it.
"""

from verl.checkpoint_engine import CheckpointEngineManager
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.llm_server import LLMServerManager

from pacs.verl_keys.workload import engine_gpus


class SeparateEngines(CheckpointEngineManager):  # type: ignore[misc]
    """verl's, of engines that need not make room for an update."""

    def sleep_replicas(self) -> None:
        """They stay awake."""


class EnginesPlaced(PPOTrainerSync):  # type: ignore[misc]
    """verl's synchronous trainer, with its engines on the GPUs that the config says."""

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        # Not before: verl would part the reference from the policy.
        self._enable_hybrid_replicas = not engine_gpus(self.config)

    def _get_n_gpus_for_throughput(self) -> int:
        return int(super()._get_n_gpus_for_throughput()) + engine_gpus(self.config)

    def _load_checkpoint(self) -> None:
        """Start the engines, of which verl has started none, if they have GPUs of their own; then verl's."""
        if engine_gpus(self.config):
            manager = self.llm_server_manager = LLMServerManager.create(config=self.config)
            transfer = omega_conf_to_dataclass(self.config.actor_rollout_ref.rollout.checkpoint_engine)
            self.checkpoint_manager = SeparateEngines(transfer, self.actor_rollout_wg, manager.get_replicas())
        super()._load_checkpoint()
