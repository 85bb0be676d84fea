"""What a second stage of rollouts (`run.rollouts.dars`) needs of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import draws_more, method, most_responses, responses_per_prompt


@spelled
def dars_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose hard prompts are to get more responses; a sentence each."""
    yield from feature_problems(config, "run.rollouts.dars.schedule")
    if not draws_more(config):
        return
    given = "@run.rollouts.dars.schedule="
    if method(config) != "pacs":
        yield (
            f"{given}: verl's own algorithms, as {method(config)}, take mini-batches of @rollout.n responses to each "
            "prompt: use a method of ours (--config-name pacs; Dr. GRPO of ours is a config whose method.name is "
            "pacs.algorithm.aggregated.DrGrpo), or leave it out."
        )
    if responses_per_prompt(config) < 2:
        yield f"{given}: from one response (@rollout.n=) nobody knows that a prompt is hard: sample more."
    if most_responses(config) <= responses_per_prompt(config):
        yield (
            "@run.rollouts.dars.most=: the first responses are @rollout.n= already, so that no prompt would get "
            "another: raise it (the authors: four times n with equal, eight times with hardness)."
        )
    if not config.actor_rollout_ref.actor.use_dynamic_bsz:
        yield f"{given}: groups of uneven size need micro-batches by tokens: set @actor.use_dynamic_bsz=true."
