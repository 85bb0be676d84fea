"""verl's workers and PACS's, built from the project's own configs, alone in this process and without Ray."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
import verl  # noqa: F401 (loads the plugin)
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf, open_dict
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.config import TrainingWorkerConfig
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.utils.losses import value_loss

from benchmarks.step.settings import Settings
from pacs.algorithm import Pacs
from pacs.base.paths import config_dir
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker

#: So small that the weights stay what they are, step after step.
LEARNING_RATE = 1e-12


class PaddedWorker(MethodWorker):
    """The design of the public code: before the updates, the policy's log-probabilities of all rows."""

    def _reference_log_probs(self, data: Any) -> torch.Tensor:
        log_probs: torch.Tensor = self.actor.log_probs(data)
        return log_probs


def compose_config(settings: Settings, folder: Path, *, padded: bool) -> DictConfig:
    """The project's config: packed sequences in micro-batches of a token budget, or padded in static ones."""
    actor = "actor_rollout_ref.actor"
    overrides = [
        f"recipe={'arithmetic' if settings.device == 'cpu' else 'qwen3_8b'}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        "+actor_rollout_ref.model.load_tokenizer=false",
        f"actor_rollout_ref.model.use_remove_padding={not padded}",
        f"actor_rollout_ref.model.use_fused_kernels={settings.head != 'model'}",
        f"++actor_rollout_ref.model.override_config.attn_implementation={settings.attention}",
        f"actor_rollout_ref.rollout.n={settings.responses}",
        f"{actor}.use_dynamic_bsz={not padded}",
        f"{actor}.ppo_max_token_len_per_gpu={settings.token_budget(settings.responses)}",
        f"{actor}.ppo_micro_batch_size_per_gpu={settings.responses}",
        f"{actor}.ulysses_sequence_parallel_size=1",
        f"{actor}.optim.lr={LEARNING_RATE}",
        f"{actor}.optim.weight_decay=0",
        f"{actor}.optim.total_training_steps=1000000",
    ]
    if settings.head != "model":
        overrides.append(f"actor_rollout_ref.model.fused_kernel_options.impl_backend={settings.head}")
    if settings.device == "cuda":
        # With float32 weights, actor and critic of 4b would not fit one GPU.
        overrides.append(f"{actor}.fsdp_config.model_dtype=bf16")
    with initialize_config_dir(str(config_dir()), version_base=None):
        config: DictConfig = compose("pacs_paper", overrides=overrides)
    return config


def make_verl(settings: Settings, folder: Path) -> ActorRolloutRefWorker:
    """verl's actor with its PPO loss."""
    worker = ActorRolloutRefWorker(compose_config(settings, folder, padded=False).actor_rollout_ref, role="actor")
    worker.init_model()
    return worker


def make_pacs(settings: Settings, folder: Path) -> MethodWorker:
    """PACS's policy and reference."""
    return pacs_worker(compose_config(settings, folder, padded=False).actor_rollout_ref)


def pacs_worker(config: DictConfig) -> MethodWorker:
    """PACS's policy and reference, from the section `actor_rollout_ref` of a config."""
    worker = MethodWorker(config, role="actor")
    worker.init_model()
    worker.set_loss_fn(MethodLoss(Pacs()))
    reference = MethodWorker(config, role="ref")
    reference.init_model()
    worker.ref = reference.ref
    return worker


def make_padded(settings: Settings, folder: Path) -> PaddedWorker:
    """PACS's policy on padded sequences in static micro-batches of a group."""
    worker = PaddedWorker(compose_config(settings, folder, padded=True).actor_rollout_ref, role="actor")
    worker.init_model()
    worker.set_loss_fn(MethodLoss(Pacs()))
    return worker


def make_critic(settings: Settings, folder: Path) -> TrainingWorker:
    """verl's critic, made as its trainer makes it, with the actor's model, engine and optimizer settings."""
    config = compose_config(settings, folder, padded=False)
    actor = config.actor_rollout_ref.actor
    with open_dict(config):
        config.critic.strategy = actor.strategy
        config.critic.model = OmegaConf.to_container(config.actor_rollout_ref.model, resolve=True)
        config.critic.model.use_fused_kernels = False
        config.critic.fsdp = OmegaConf.to_container(actor.fsdp_config, resolve=True)
        config.critic.optim = OmegaConf.to_container(actor.optim, resolve=True)
    critic = omega_conf_to_dataclass(config.critic)
    critic.engine.use_dynamic_bsz = True
    critic.engine.max_token_len_per_gpu = settings.token_budget(settings.responses)
    critic.engine.infer_max_token_len_per_gpu = settings.token_budget(settings.responses)
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="value_model",
            model_config=critic.model,
            engine_config=critic.engine,
            optimizer_config=critic.optim,
            checkpoint_config=critic.checkpoint,
        )
    )
    worker.reset()
    worker.set_loss_fn(partial(value_loss, config=critic))
    return worker
