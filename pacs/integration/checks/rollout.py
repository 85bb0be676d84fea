"""What verl and vLLM would refuse of the rollouts' settings once all else is up, or take without a word."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf


def rollout_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the engines' settings, a sentence each with the setting and the mend."""
    rollout, ranks = config.actor_rollout_ref.rollout, config.trainer.n_gpus_per_node * config.trainer.nnodes
    key = "actor_rollout_ref.rollout"
    engine = math.prod(rollout[f"{part}_parallel_size"] for part in ("tensor_model", "data", "pipeline_model"))
    if ranks % engine:
        yield (
            f"{key}.tensor_model_parallel_size={rollout.tensor_model_parallel_size}: engines of {engine} GPUs cannot "
            f"share {ranks} ranks (trainer.n_gpus_per_node * trainer.nnodes): use a number that divides them."
        )
    share = rollout.gpu_memory_utilization
    if not isinstance(share, int | float) or not 0 < share <= 1:
        yield f"{key}.gpu_memory_utilization={share}: it is vLLM's share of a GPU; use a number above 0 and at most 1."
    yield from _context_problems(config)
    yield from _scheduler_problems(config)
    for name in ("prompt_length", "response_length"):
        own, run = rollout[name], config.data[f"max_{name}"]
        if own != run:
            yield f"{key}.{name}={own} is not data.max_{name}={run}: leave it out, so that it follows."


def cut_sampling(config: DictConfig) -> str | None:
    """The settings by which vLLM samples from the likelier tokens alone, as one writes them; None without such."""
    rollout, whole = config.actor_rollout_ref.rollout, {"top_k": -1, "top_p": 1}
    named = [f"actor_rollout_ref.rollout.{key}={rollout[key]}" for key, value in whole.items() if rollout[key] != value]
    return " ".join(named) or None


def _scheduler_problems(config: DictConfig) -> Iterator[str]:
    """What vLLM's scheduler refuses."""
    rollout, key = config.actor_rollout_ref.rollout, "actor_rollout_ref.rollout.max_num_batched_tokens"
    tokens, context = rollout.max_num_batched_tokens, rollout.max_model_len
    if tokens < rollout.max_num_seqs:
        yield f"{key}={tokens}: vLLM refuses fewer than max_num_seqs={rollout.max_num_seqs}: raise it, or lower that."
    if not rollout.enable_chunked_prefill and context is not None and tokens < context:
        yield (
            f"{key}={tokens} does not hold a prompt of max_model_len={context} tokens at once, as "
            "enable_chunked_prefill=false asks for: raise it, or set that to true."
        )


def _context_problems(config: DictConfig) -> Iterator[str]:
    """The positions that vLLM holds of a sequence; a response of several turns fits the same limits."""
    key, own = "actor_rollout_ref.rollout.max_model_len", "actor_rollout_ref.rollout.engine_kwargs.vllm.max_model_len"
    context, longest = OmegaConf.select(config, key), config.data.max_prompt_length + config.data.max_response_length
    if OmegaConf.select(config, own) is not None:
        yield f"{own} would take the place of {key} without verl's knowing: set {key}, or leave both out."
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        yield f"{key}={context}: use a whole number of tokens, or leave it out ({longest}, by the lengths)."
    elif context is not None and context < longest:
        yield (
            f"{key}={context} would cut responses off, without a word: data.max_prompt_length and "
            f"data.max_response_length make {longest} tokens; leave it out, or lower the lengths."
        )
