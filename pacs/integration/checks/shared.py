"""What every trainer of ours needs of a config: one that can be gone on with, and that verl heeds."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.run_folder import RunFolder
from pacs.integration.checks.batch import rollout_problems
from pacs.integration.checks.bounds import value_problems
from pacs.integration.checks.dars import dars_problems
from pacs.integration.checks.switches import switch_problems
from pacs.integration.checks.wording import full_name, spelled
from pacs.integration.patches.shown_config import logger_problem
from pacs.rewards.reasoning import check_named
from pacs.rewards.registry import PATH, check_settings
from pacs.runs.settings import RunSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import ranks

#: In bfloat16 neighbours are 2^-8 to 2^-7 apart, relative to them: a decay of less than half of that is rounded away.
LARGEST_BETA2 = 1 - 2**-8


def shared_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whatever it trains, a sentence each with the setting and the mend."""
    reward = config.reward.custom_reward_function
    typed: list[Callable[[], object]] = [
        partial(RunSettings.from_mapping, plain(config.run)),
        lambda: check_named(plain(config.run.reasoning)["delimiters"]),
    ]
    if reward.path == PATH:
        typed.append(partial(check_settings, reward.get("reward_kwargs") or {}))
    for read in typed:
        try:
            read()
        except ValueError as error:
            yield str(error)
    for check in (value_problems, _life_problems, rollout_problems, dars_problems, switch_problems):
        yield from check(config)
    if (problem := logger_problem(config)) is not None:
        yield problem


@spelled
def _life_problems(config: DictConfig) -> Iterator[str]:
    """What a run needs so that it can be stopped, killed and gone on with, from whole checkpoints in its folder."""
    trainer, gpus, groups = config.trainer, ranks(config), config.algorithm.get("filter_groups") or {}
    if config.run.rollouts.seeded is True and config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"run.rollouts.seeded=true has an agent-loop manager of its own: leave out {manager}, or set it to false."
    size = config.actor_rollout_ref.actor.fsdp_config.fsdp_size
    if not isinstance(size, int) or size == 0 or (0 < size < gpus and gpus % size):
        yield (
            f"@actor.fsdp_config.fsdp_size={size} does not divide the {gpus} ranks (trainer.n_gpus_per_node * "
            "trainer.nnodes): use -1 for all of them, or a number that does."
        )
    if Path(trainer.default_local_dir).expanduser().absolute() != RunFolder(config.run.dir).checkpoints:
        yield (
            "@trainer.default_local_dir=: leave it out; a run's checkpoints are in its folder (run.dir), where "
            "`pacs runs` and `pacs export` find them."
        )
    if trainer.get("remove_previous_ckpt_in_save") or trainer.max_critic_ckpt_to_keep != trainer.max_actor_ckpt_to_keep:
        yield "Checkpoints are kept as a whole: set trainer.max_actor_ckpt_to_keep alone (null keeps all)."
    for key in (f"{part}.checkpoint.{which}_contents" for part in ("actor", "critic") for which in ("save", "load")):
        if lacking := {"model", "optimizer", "extra"} - set(OmegaConf.select(config, full_name(key))):
            yield f"@{key} lacks {sorted(lacking)}: a run goes on only from all of them."
    metric, verifiers = groups.get("metric"), config.reward.custom_reward_function.path == PATH
    if groups.get("enable") and (metric is None or (verifiers and metric not in ("score", "reward"))):
        yield (
            "@algorithm.filter_groups.metric=: groups are filtered by a number that the verifier gives: use score, or "
            "reward (with what was taken off for length)."
        )


@spelled
def coarse_moments(config: DictConfig) -> Iterator[str]:
    """A warning where Adam's second moment cannot fall (findings/torch_bfloat16_adam_never_forgets.sh)."""
    for part, section in (("actor", "fsdp_config"), *((("critic", "fsdp"),) if config.critic.enable else ())):
        engine, optim = (OmegaConf.select(config, full_name(f"{part}.{name}")) for name in (section, "optim"))
        adamw = (optim.optimizer_impl, optim.optimizer) == ("torch.optim", "AdamW")
        if adamw and engine.model_dtype in ("bf16", "bfloat16") and optim.betas[1] > LARGEST_BETA2:
            yield (
                f"@{part}.{section}.model_dtype= with @{part}.optim.betas=: Adam's second moment is in bfloat16, too, "
                "where a decay of so little is rounded away: after one large gradient a weight's steps stay small for "
                "the rest of the run. Use model_dtype=fp32, or a second beta of at most 0.99."
            )
