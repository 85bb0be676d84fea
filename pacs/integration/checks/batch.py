"""Batches that divide into mini-batches, ranks and micro-batches, and token budgets that the longest row fits."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.verl_keys.config import (
    PADDING_TOKENS,
    data_parallel_size,
    longest_sequence_tokens,
    sequence_parallel_size,
)


def batch_problems(config: DictConfig) -> Iterator[str]:
    """What does not divide, or does not fit; a sentence each with the setting and the mend."""
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
    yield from _dynamic_problems(config) if actor.use_dynamic_bsz else _static_problems(config)


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
                f"{PADDING_TOKENS} of verl's padding): raise it to at least {-(-longest // shared)}, or "
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
