"""What partial rollouts (`run.rollouts.partial`) need of a config."""

import math
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.features import feature_problems, weights_by_ratio
from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import has_generative_critic, has_partial_rollouts, method, prompts_per_step

#: verl's settings of its own asynchronous trainers -> what says it here.
VERLS = {
    "trainer.v1.colocate_async.num_warmup_batches": (1, "ahead"),
    "trainer.v1.separate_async.num_warmup_batches": (1, "ahead"),
    "trainer.v1.sampler.max_off_policy_threshold": (8, "max_staleness"),
    "trainer.v1.sampler.max_off_policy_strategy": ("drop", "max_staleness"),
}


@spelled
def partial_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose steps do not wait for all responses; a sentence each."""
    for key, (verls, ours) in VERLS.items():
        if OmegaConf.select(config, key, default=verls) != verls:
            yield f"@{key}=: a run here reads run.rollouts.partial.{ours} in its place: leave it out."
    yield from feature_problems(config, "run.rollouts.partial.ahead")
    ahead = config.run.rollouts.partial.ahead
    if ahead is None:
        return
    given = "@run.rollouts.partial.ahead="
    if isinstance(ahead, (int, float)) and math.isfinite(ahead) and not has_partial_rollouts(config):
        yield (
            f"{given} of data.train_batch_size={prompts_per_step(config)} prompts is less than one: raise it, or leave "
            "it out."
        )
    if has_generative_critic(config):
        yield f"{given}: a generative critic judges a response by the weights of one step: leave ahead out."


def partial_warnings(config: DictConfig) -> Iterator[str]:
    """What a run with partial rollouts does that its reader may not think of."""
    if has_partial_rollouts(config) and (mend := weights_by_ratio(config)):
        needs = " (PACS: with method.reference.reset_every=1)" if method(config) == "pacs" else ""
        yield (
            f"run.rollouts.partial.ahead={config.run.rollouts.partial.ahead}: some responses are by older weights, and "
            f"nothing makes up for that; {mend}{needs} (docs/scaling.md#partial-rollouts)."
        )
