"""Engines on GPUs of their own (`actor_rollout_ref.rollout.nnodes`), which sample while the policy is updated.

verl's separate_async within our synchronous loop: its engines without a trainer, and its transfer of weights. After
each step requests are broken off, every engine gets the weights, and the requests go on. With partial rollouts
(`partial.py`) the prompts of the next step are sampled during the update; without them the engines wait for it.
"""

from typing import Any

from verl.checkpoint_engine import CheckpointEngineManager
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.llm_server import LLMServerManager


class SeparateEngines(CheckpointEngineManager):  # type: ignore[misc]
    """verl's, of engines that need not make room for an update."""

    def sleep_replicas(self) -> None:
        """They stay awake."""


def start_engines(trainer: Any) -> None:
    """Start them in the place of those that share the training ranks' GPUs, of which verl has started none."""
    manager = trainer.llm_server_manager = LLMServerManager.create(config=trainer.config)
    transfer = omega_conf_to_dataclass(trainer.config.actor_rollout_ref.rollout.checkpoint_engine)
    trainer.checkpoint_manager = SeparateEngines(transfer, trainer.actor_rollout_wg, manager.get_replicas())
