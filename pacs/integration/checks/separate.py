"""What engines on GPUs of their own (`actor_rollout_ref.rollout.nnodes`) need of a config."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import has_generative_critic, has_partial_rollouts, ranks_per_node
from pacs.verl_keys.workload import engine_gpus


@spelled
def separate_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose engines have GPUs of their own; a sentence each."""
    rollout = config.actor_rollout_ref.rollout
    for name in ("nnodes", "n_gpus_per_node"):
        if type(rollout[name]) is not int or rollout[name] < (name != "nnodes"):
            yield f"@rollout.{name}=: use a whole number; @rollout.nnodes=0 has vLLM share the GPUs of the training."
            return
    if not (gpus := engine_gpus(config)):
        if rollout.n_gpus_per_node != ranks_per_node(config):
            yield "@rollout.n_gpus_per_node= is not read without @rollout.nnodes: set that to 1, or leave this out."
        return
    apart = "@rollout.nnodes= (vLLM on GPUs of its own)"
    engine = math.prod(rollout[f"{part}_parallel_size"] for part in ("tensor_model", "data", "pipeline_model"))
    if gpus % engine or max(engine, rollout.n_gpus_per_node) % min(engine, rollout.n_gpus_per_node):
        yield (
            f"{apart}: engines of {engine} GPUs do not fit {gpus} GPUs, @rollout.n_gpus_per_node= on a node: use "
            f"a multiple of @rollout.tensor_model_parallel_size=."
        )
    yield from feature_problems(config, "rollout.nnodes")
    if has_generative_critic(config):
        yield f"{apart}: a generative critic's engines share the GPUs of the training: leave it out."


def separate_warnings(config: DictConfig) -> Iterator[str]:
    """What such a run does that its reader may not think of."""
    if engine_gpus(config) and not has_partial_rollouts(config):
        yield (
            f"actor_rollout_ref.rollout.nnodes={config.actor_rollout_ref.rollout.nnodes}: without "
            "run.rollouts.partial.ahead vLLM's GPUs wait during the update, and those of the training for vLLM; 1 has "
            "them work at the same time (docs/scaling.md#generation-on-gpus-of-its-own)."
        )
