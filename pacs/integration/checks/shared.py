"""What every trainer of ours needs of a config: one that can be gone on with, and that verl heeds."""

from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.run_folder import RunFolder
from pacs.integration.checks.bounds import value_problems
from pacs.integration.checks.dars import dars_problems
from pacs.integration.checks.rollout import rollout_problems
from pacs.integration.checks.switches import switch_problems
from pacs.integration.patches.shown_config import logger_problem
from pacs.rewards.reasoning import check_named
from pacs.rewards.registry import PATH, check_settings
from pacs.runs.settings import RunSettings
from pacs.verl_keys.algorithm_changes import plain

#: In bfloat16 neighbours are 2^-8 to 2^-7 apart, relative to them: a decay of less than half of that is rounded away.
LARGEST_BETA2 = 1 - 2**-8


def shared_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whatever it trains, a sentence each with the setting and the mend."""
    yield from _life_problems(config)
    yield from value_problems(config)
    yield from _number_problems(config)
    yield from _checkpoint_problems(config)
    yield from _reward_problems(config)
    yield from _verl_settings_problems(config)
    yield from rollout_problems(config)
    yield from dars_problems(config)
    yield from switch_problems(config)
    if (problem := logger_problem(config)) is not None:
        yield problem


def _life_problems(config: DictConfig) -> Iterator[str]:
    """What a run needs so that it can be stopped, killed and gone on with."""
    try:
        RunSettings.from_mapping(plain(config.run))
    except ValueError as error:
        yield str(error)
    trainer, manager = config.trainer, config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class")
    if trainer.resume_mode not in ("auto", "resume_path", "disable"):
        yield f"trainer.resume_mode={trainer.resume_mode}: use auto, resume_path or disable."
    if config.run.rollouts.seeded is True and manager is not None:
        yield (
            f"run.rollouts.seeded=true has an agent-loop manager of its own: leave out {manager} "
            "(actor_rollout_ref.rollout.agent.agent_loop_manager_class), or set it to false."
        )


def _number_problems(config: DictConfig) -> Iterator[str]:
    """Numbers that would be used only after the start."""
    trainer, steps = config.trainer, config.trainer.total_training_steps
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        yield f"trainer.total_training_steps={steps}: use a whole number of at least 1, or null for all epochs."
    size, ranks = config.actor_rollout_ref.actor.fsdp_config.fsdp_size, trainer.n_gpus_per_node * trainer.nnodes
    if not isinstance(size, int) or size == 0 or (0 < size < ranks and ranks % size):
        yield (
            f"actor_rollout_ref.actor.fsdp_config.fsdp_size={size} does not divide the {ranks} ranks "
            "(trainer.n_gpus_per_node * trainer.nnodes): use -1 for all of them, or a number that does."
        )


def coarse_moments(config: DictConfig) -> Iterator[str]:
    """A warning where Adam's second moment cannot fall (findings/torch_bfloat16_adam_never_forgets.sh)."""
    parts = {"actor_rollout_ref.actor": "fsdp_config", **({"critic": "fsdp"} if config.critic.enable else {})}
    for part, section in parts.items():
        engine, optim = (OmegaConf.select(config, f"{part}.{name}") for name in (section, "optim"))
        adamw = (optim.optimizer_impl, optim.optimizer) == ("torch.optim", "AdamW")
        if adamw and engine.model_dtype in ("bf16", "bfloat16") and optim.betas[1] > LARGEST_BETA2:
            yield (
                f"{part}.{section}.model_dtype={engine.model_dtype} with {part}.optim.betas={list(optim.betas)}: "
                "Adam's second moment is in bfloat16, too, where a decay of so little is rounded away: after one large "
                "gradient a weight's steps stay small for the rest of the run. Use model_dtype=fp32, or a second beta "
                "of at most 0.99."
            )


def _checkpoint_problems(config: DictConfig) -> Iterator[str]:
    """A run goes on from whole checkpoints, which are in its folder."""
    trainer = config.trainer
    keep = trainer.max_actor_ckpt_to_keep
    if keep is not None and (not isinstance(keep, int) or keep < 1):
        yield f"trainer.max_actor_ckpt_to_keep={keep}: use a number of at least 1, or null to keep all."
    if trainer.get("del_local_ckpt_after_load"):
        yield "trainer.del_local_ckpt_after_load=true deletes what the run goes on from: set it to false."
    if Path(trainer.default_local_dir).expanduser().absolute() != RunFolder(config.run.dir).checkpoints:
        yield (
            f"trainer.default_local_dir={trainer.default_local_dir}: leave it out; a run's checkpoints are in its "
            "folder (run.dir), where `pacs runs` and `pacs export` find them."
        )
    if trainer.get("remove_previous_ckpt_in_save") or trainer.max_critic_ckpt_to_keep != trainer.max_actor_ckpt_to_keep:
        yield "Checkpoints are kept as a whole: set trainer.max_actor_ckpt_to_keep alone (null keeps all)."
    for part in ("actor_rollout_ref.actor", "critic"):
        checkpoint = OmegaConf.select(config, f"{part}.checkpoint")
        for key in ("save_contents", "load_contents"):
            if lacking := {"model", "optimizer", "extra"} - set(checkpoint[key]):
                yield f"{part}.checkpoint.{key} lacks {sorted(lacking)}: a run goes on only from all of them."
        if checkpoint.get("async_save"):
            yield f"{part}.checkpoint.async_save=true: set it to false, so that a save has ended when it says so."


def _reward_problems(config: DictConfig) -> Iterator[str]:
    reward = config.reward.custom_reward_function
    try:
        check_named(plain(config.run.reasoning)["delimiters"])
    except ValueError as error:
        yield str(error)
    if reward.path == PATH:
        try:
            check_settings(reward.get("reward_kwargs") or {})
        except ValueError as error:
            yield str(error)


def _verl_settings_problems(config: DictConfig) -> Iterator[str]:
    actor = config.actor_rollout_ref.actor
    if actor.strategy != "fsdp2":
        yield (
            f"actor_rollout_ref.actor.strategy={actor.strategy}: checkpoints and PACS's reference are copied shard by "
            "shard, which is written for fsdp2; use that."
        )
    filter_groups = config.algorithm.get("filter_groups") or {}
    metric, verifiers = filter_groups.get("metric"), config.reward.custom_reward_function.path == PATH
    if filter_groups.get("enable") and (metric is None or (verifiers and metric not in ("score", "reward"))):
        yield (
            f"algorithm.filter_groups.metric={metric}: groups are filtered by a number that the verifier gives: use "
            "score, or reward (with what was taken off for length)."
        )
    synchronous = config.trainer.v1.get("sync") or {}
    if synchronous.get("parameter_sync_step", 1) != 1:
        yield (
            "trainer.v1.sync.parameter_sync_step: a step here is one batch of rollouts and one new set of weights in "
            "vLLM; set it to 1 (updates a step: actor_rollout_ref.actor.ppo_mini_batch_size)."
        )
