"""What verl and vLLM would refuse of the rollouts' settings once all else is up, or take without a word."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig


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
    context, longest = rollout.max_model_len, config.data.max_prompt_length + config.data.max_response_length
    if context is not None and context < longest:
        yield (
            f"{key}.max_model_len={context} would cut responses off, without a word: data.max_prompt_length and "
            f"data.max_response_length make {longest} tokens; leave it out, or lower the lengths."
        )
