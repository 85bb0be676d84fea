"""What values of a response's steps (`run.rollouts.vine`) need of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm.vineppo import STEP_VALUE
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import method_in
from pacs.runs.settings import VineSettings
from pacs.verl_keys.config import draws_more, method, trains_completions, values_steps

#: verl's agent loop of one turn.
SINGLE_TURN = "single_turn_agent"


@spelled
def vine_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose steps are to be valued by completions; a sentence each."""
    vine, rollout = config.run.rollouts.vine, config.actor_rollout_ref.rollout
    if not values_steps(config):
        for name, default in VineSettings():
            if vine.get(name) not in (default, None):
                yield (
                    f"@run.rollouts.vine.{name}= is not read without run.rollouts.vine.completions: set that to how "
                    "many completions value a step, or leave this out."
                )
        return
    given = "@run.rollouts.vine.completions="
    if trains_completions(config):
        yield from _group_problems(config)
    elif not _is_read(config):
        yield (
            f"{given}: the method reads no values of steps, and the completions would be for nothing: use "
            "--config-name vineppo, train on them (run.rollouts.vine.train_completions=true), or leave it out."
        )
    if draws_more(config):
        yield f"{given} with @run.rollouts.dars.schedule= is not tried: leave one of them out."
    if rollout.multi_turn.enable or rollout.agent.default_agent_loop != SINGLE_TURN:
        yield (
            f"{given}: a prefix of several turns cannot be completed by one call of the engine: set "
            f"@rollout.multi_turn.enable=false and @rollout.agent.default_agent_loop={SINGLE_TURN}, or leave it out."
        )
    if config.reward.reward_model.enable and not config.reward.reward_model.enable_resource_pool:
        yield (
            f"{given}: @reward.reward_model.enable=true without a pool of its own grades when all responses are there, "
            "and no completion: set reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    if rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"{given} has an agent-loop manager of its own: leave out {manager}, or set it to null."


def _group_problems(config: DictConfig) -> Iterator[str]:
    """Of completions that are trained on."""
    given, vine = "@run.rollouts.vine.train_completions=", config.run.rollouts.vine
    if method(config) != "pacs":
        yield f"{given}: verl's own algorithms, as {method(config)}, compare a prompt's rows: use a method of ours."
        return
    if _is_read(config):
        yield f"{given}: this method credits steps by their values, and there are none: leave it out, or use pacs."
        return
    try:
        least = method_in(config).smallest_group
    except ValueError:  # another check says what is wrong with the method
        return
    if vine.completions < least:
        yield f"@run.rollouts.vine.completions=: this method compares at least {least} of a prefix: sample more."
    if vine.most_steps < 2:
        yield f"{given} with @run.rollouts.vine.most_steps=: a response in one step has no prefix: raise that."
    for key in ("algorithm.filter_groups.enable", "run.rollouts.guided.after", "run.rlpr.std_filter.share"):
        if OmegaConf.select(config, key):
            yield f"{given} with @{key}= is not tried: leave one of them out."


def _is_read(config: DictConfig) -> bool:
    if method(config) != "pacs":
        return False
    try:
        return STEP_VALUE in method_in(config).reads
    except ValueError:  # another check says what is wrong with the method
        return True
