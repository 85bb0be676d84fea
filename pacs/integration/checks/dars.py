"""What a second stage of rollouts (`run.rollouts.dars`) needs of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.integration.checks.wording import spelled
from pacs.runs.settings import DarsSettings
from pacs.verl_keys.config import draws_more, method, most_responses, responses_per_prompt


@spelled
def dars_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose hard prompts are to get more responses; a sentence each."""
    if not draws_more(config):
        for name, default in DarsSettings():
            if config.run.rollouts.dars.get(name) not in (default, None):
                yield (
                    f"@run.rollouts.dars.{name}= is not read without run.rollouts.dars.schedule: set that to equal or "
                    "hardness, or leave this out."
                )
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
    if config.reward.reward_model.enable and not config.reward.reward_model.enable_resource_pool:
        yield (
            f"{given}: @reward.reward_model.enable=true without a pool of its own grades when all responses are there, "
            "too late for a second stage: set reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    if config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"{given} has an agent-loop manager of its own: leave out {manager}, or set it to null."
