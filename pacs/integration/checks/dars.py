"""What a second stage of rollouts (`run.rollouts.dars`) needs of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.runs.settings import DarsSettings
from pacs.verl_keys.config import draws_more, method, most_responses, responses_per_prompt


def dars_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose hard prompts are to get more responses; a sentence each."""
    dars = config.run.rollouts.dars
    if not draws_more(config):
        for name, default in DarsSettings():
            if (value := dars.get(name)) not in (default, None):
                yield (
                    f"run.rollouts.dars.{name}={value} is not read without run.rollouts.dars.schedule: set that to "
                    "equal or hardness, or leave this out."
                )
        return
    n, most, rollout = responses_per_prompt(config), most_responses(config), config.actor_rollout_ref.rollout
    given = f"run.rollouts.dars.schedule={dars.schedule}"
    if method(config) != "pacs":
        yield (
            f"{given}: verl's own algorithms, as {method(config)}, take mini-batches of actor_rollout_ref.rollout.n "
            "responses to each prompt: use a method of ours (--config-name pacs; Dr. GRPO of ours is a config whose "
            "method.name is pacs.algorithm.aggregated.DrGrpo), or leave it out."
        )
    if n < 2:
        yield f"{given}: from actor_rollout_ref.rollout.n={n} response nobody knows that a prompt is hard: sample more."
    if most <= n:
        yield (
            f"run.rollouts.dars.most={most}: the first responses are actor_rollout_ref.rollout.n={n} already, so that "
            "no prompt would get another: raise it (the authors: four times n with equal, eight times with hardness)."
        )
    if not config.actor_rollout_ref.actor.use_dynamic_bsz:
        yield (
            f"{given}: groups of uneven size make micro-batches by tokens alone: set "
            "actor_rollout_ref.actor.use_dynamic_bsz=true."
        )
    if config.reward.reward_model.enable and not config.reward.reward_model.enable_resource_pool:
        yield (
            f"{given}: reward.reward_model.enable=true without a pool of its own grades when all responses are there, "
            "too late for a second stage: set reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    manager = rollout.agent.get("agent_loop_manager_class")
    if manager is not None:
        yield (
            f"{given} has an agent-loop manager of its own: leave out {manager} "
            "(actor_rollout_ref.rollout.agent.agent_loop_manager_class), or set it to null."
        )
