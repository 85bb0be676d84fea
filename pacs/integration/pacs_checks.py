"""What the PACS trainer needs of a config: sound settings, a reference that can be copied, batches that divide."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig
from verl.trainer.ppo.padding_utils import SYNTHETIC_PADDING_SEQ_LEN

from pacs.algorithm import PacsConfig
from pacs.integration.schema import algorithm_section
from pacs.integration.strategy import (
    data_parallel_size,
    longest_sequence_tokens,
    sequence_parallel_size,
    wanted,
    why_not_grouped,
)

#: Settings of FSDP that policy and reference must share: the reference is the policy's copy, shard by shard, and
#: where they agree every log-ratio must be 0.
SHARED_WITH_REFERENCE = ("fsdp_size", "model_dtype", "dtype", "mixed_precision", "ulysses_sequence_parallel_size")


def pacs_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config of the PACS trainer, a sentence each with the setting and the mend."""
    try:
        PacsConfig.from_mapping(algorithm_section(config)).check_group_size(config.actor_rollout_ref.rollout.n)
    except ValueError as error:
        yield str(error)
        return
    yield from _reference_problems(config)
    yield from _ignored_settings(config)
    yield from _batch_problems(config)


def _reference_problems(config: DictConfig) -> Iterator[str]:
    actor, ref = config.actor_rollout_ref.actor, config.actor_rollout_ref.ref
    if actor.strategy != "fsdp2":
        yield (
            f"actor_rollout_ref.actor.strategy={actor.strategy}: PACS copies its reference shard by shard, which is "
            "written for fsdp2; use that."
        )
    elif ref.strategy != actor.strategy:
        yield (
            f"actor_rollout_ref.ref.strategy={ref.strategy} is not the actor's: leave it out, so that it follows the "
            "actor's."
        )
    for key in SHARED_WITH_REFERENCE:
        theirs, own = actor.fsdp_config.get(key), ref.fsdp_config.get(key)
        if theirs != own:
            yield (
                f"actor_rollout_ref.ref.fsdp_config.{key}={own} is not the actor's ({theirs}): the reference is the "
                "policy's copy; leave the reference's setting out, so that it follows the actor's."
            )
    model = config.actor_rollout_ref.model
    if model.lora_rank > 0 or model.lora.rank > 0 or model.lora_adapter_path is not None:
        yield (
            "actor_rollout_ref.model.lora_rank: with LoRA the reference would be the base model for ever, and could "
            "not be reset to the policy; set lora_rank=0 and lora.rank=0."
        )


def _ignored_settings(config: DictConfig) -> Iterator[str]:
    """Settings of verl that PACS would not heed."""
    actor, algorithm = config.actor_rollout_ref.actor, config.algorithm
    if actor.use_kl_loss or config.algorithm.use_kl_in_reward:
        yield (
            "actor_rollout_ref.actor.use_kl_loss or algorithm.use_kl_in_reward is true: PACS has no KL term (the "
            "ratio to the reference is its score); set both to false."
        )
    if actor.entropy_coeff != 0:
        yield (
            f"actor_rollout_ref.actor.entropy_coeff={actor.entropy_coeff}: PACS's loss has no entropy term; set "
            "it to 0 (the entropy is logged anyway, pacs.metrics.entropy_every)."
        )
    if actor.shuffle:
        yield (
            "actor_rollout_ref.actor.shuffle=true would tear groups apart; set it to false (the data is shuffled by "
            "data.shuffle, and groups are dealt out to mini-batches anew each step)."
        )
    correction = algorithm.get("rollout_correction") or {}
    if correction.get("rollout_is") or correction.get("rollout_rs") or correction.get("bypass_mode"):
        yield (
            "algorithm.rollout_correction is set: PACS has no importance weights and no log pi_old; set rollout_is and "
            "rollout_rs to null and bypass_mode to false."
        )
    if config.get("distillation", {}).get("enabled"):
        yield "distillation.enabled=true: PACS has no distillation loss; set it to false."
    if config.critic.enable:
        yield "critic.enable=true: PACS has no critic; set it to false."
    if config.trainer.critic_warmup > 0:
        yield (
            f"trainer.critic_warmup={config.trainer.critic_warmup}: PACS has no critic, and the policy would not be "
            "updated in these steps; set it to 0."
        )
    filter_groups = algorithm.get("filter_groups") or {}
    if filter_groups.get("enable") and not filter_groups.get("metric"):
        yield "algorithm.filter_groups.enable=true needs algorithm.filter_groups.metric, e.g. reward."
    synchronous = config.trainer.v1.get("sync") or {}
    if synchronous.get("parameter_sync_step", 1) != 1:
        yield (
            "trainer.v1.sync.parameter_sync_step: PACS's steps, by which the reference is reset, are verl's; set it "
            "to 1 (updates a step: actor_rollout_ref.actor.ppo_mini_batch_size)."
        )


def _batch_problems(config: DictConfig) -> Iterator[str]:
    """Batches must divide into mini-batches, ranks and micro-batches, in whole groups if the strategy is grouped."""
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    gpus, shared = config.trainer.n_gpus_per_node * config.trainer.nnodes, sequence_parallel_size(config)
    if gpus % shared:
        yield (
            f"actor_rollout_ref.actor.ulysses_sequence_parallel_size={shared} does not divide the {gpus} ranks "
            "(trainer.n_gpus_per_node * trainer.nnodes)."
        )
        return
    for key in ("ppo_mini_batch_size", "ppo_epochs"):
        if actor[key] < 1:
            yield f"actor_rollout_ref.actor.{key}={actor[key]} must be at least 1."
            return
    if actor.optim.clip_grad is None:
        yield "actor_rollout_ref.actor.optim.clip_grad=null: verl needs a number; use .inf to never clip."
    prompts, ranks = actor.ppo_mini_batch_size, data_parallel_size(config)
    generated = config.data.get("gen_batch_size")
    if generated is not None and config.data.train_batch_size % generated:
        yield (
            f"data.gen_batch_size={generated} does not divide data.train_batch_size={config.data.train_batch_size}: "
            "leave it out."
        )
    if config.data.train_batch_size % prompts:
        yield (
            f"data.train_batch_size={config.data.train_batch_size} is not a multiple of "
            f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts} (both count prompts): change either."
        )
    if prompts * n % ranks:
        yield (
            f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts} prompts of rollout.n={n} responses cannot be dealt "
            f"out to {ranks} data-parallel ranks: use a multiple of {ranks} prompts (or one that makes their "
            f"product a multiple of {ranks})."
        )
        return
    for part in ("rollout", "ref"):
        if config.actor_rollout_ref[part].log_prob_use_dynamic_bsz != actor.use_dynamic_bsz:
            yield (
                f"actor_rollout_ref.{part}.log_prob_use_dynamic_bsz is not actor_rollout_ref.actor.use_dynamic_bsz="
                f"{str(actor.use_dynamic_bsz).lower()}: leave it out, so that it follows."
            )
            return
    micro = list(_dynamic_problems(config) if actor.use_dynamic_bsz else _static_problems(config))
    yield from micro
    if wanted(config) == "grouped" and not micro:
        obstacle = why_not_grouped(config, n * longest_sequence_tokens(config))
        if obstacle is not None:
            yield (
                f"pacs.update.strategy=grouped, but {obstacle}: change that (a group has {n} responses of up to "
                f"{longest_sequence_tokens(config)} tokens with their prompt), or use pacs.update.strategy=auto, which "
                "is as exact."
            )


def _dynamic_problems(config: DictConfig) -> Iterator[str]:
    """The longest sequence must fit every micro-batch."""
    longest = longest_sequence_tokens(config)
    settings = config.actor_rollout_ref
    budgets = {
        "actor.ppo_max_token_len_per_gpu": settings.actor.ppo_max_token_len_per_gpu,
        "rollout.log_prob_max_token_len_per_gpu": settings.rollout.log_prob_max_token_len_per_gpu,
        "ref.log_prob_max_token_len_per_gpu": settings.ref.log_prob_max_token_len_per_gpu,
    }
    shared = sequence_parallel_size(config)
    for key, budget in budgets.items():
        if budget is None or budget * shared < longest:
            yield (
                f"actor_rollout_ref.{key}={budget} (times ulysses_sequence_parallel_size={shared}) is smaller than the "
                f"longest row, {longest} tokens (data.max_prompt_length + data.max_response_length, or the "
                f"{SYNTHETIC_PADDING_SEQ_LEN} of verl's padding): raise it to at least {-(-longest // shared)}, or "
                "lower the lengths."
            )


def _static_problems(config: DictConfig) -> Iterator[str]:
    """Micro-batches of a fixed number of responses must divide a rank's part of a mini-batch."""
    settings = config.actor_rollout_ref
    per_rank = settings.actor.ppo_mini_batch_size * settings.rollout.n // data_parallel_size(config)
    sizes = {
        "actor.ppo_micro_batch_size_per_gpu": settings.actor.ppo_micro_batch_size_per_gpu,
        "rollout.log_prob_micro_batch_size_per_gpu": settings.rollout.log_prob_micro_batch_size_per_gpu,
        "ref.log_prob_micro_batch_size_per_gpu": settings.ref.log_prob_micro_batch_size_per_gpu,
    }
    for key, size in sizes.items():
        if size is None or per_rank % size:
            yield (
                f"actor_rollout_ref.{key}={size} must divide the {per_rank} responses of a rank's mini-batch: use "
                f"{math.gcd(per_rank, size or per_rank)}, or actor_rollout_ref.actor.use_dynamic_bsz=true."
            )
