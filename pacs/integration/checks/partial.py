"""What partial rollouts (`run.rollouts.partial`) need of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.wording import full_name, spelled
from pacs.runs.settings import PartialSettings
from pacs.verl_keys.config import has_generative_critic, has_partial_rollouts, has_turns, method, prompts_per_step

#: Settings of what a prompt's responses, or a step's prompts, depend on each other by.
NOT_WITH = (
    "algorithm.filter_groups.enable",
    "run.rollouts.dars.schedule",
    "run.rollouts.guided.after",
    "run.rollouts.pool.weights",
    "run.rollouts.vine.completions",
)
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
    ahead = config.run.rollouts.partial.ahead
    if ahead is None:
        for name, default in PartialSettings():
            if config.run.rollouts.partial.get(name) not in (default, None):
                yield f"@run.rollouts.partial.{name}= is not read without run.rollouts.partial.ahead: set that to 0.5."
        return
    given = "@run.rollouts.partial.ahead="
    if isinstance(ahead, (int, float)) and not has_partial_rollouts(config):
        yield (
            f"{given} of data.train_batch_size={prompts_per_step(config)} prompts is less than one: raise it, or leave "
            "it out."
        )
    for key in NOT_WITH:
        if OmegaConf.select(config, full_name(key)):
            yield f"{given} with @{key}= is not built: leave one of them out."
    if has_generative_critic(config):
        yield f"{given}: a generative critic judges a response by the weights of one step: leave ahead out."
    if has_turns(config):
        yield (
            f"{given}: a response of several turns cannot be broken off: leave ahead out, or set "
            "@rollout.agent.default_agent_loop=single_turn_agent."
        )
    if config.reward.reward_model.enable and not config.reward.reward_model.enable_resource_pool:
        yield (
            f"{given}: @reward.reward_model.enable=true without a pool of its own takes turns with vLLM on the same "
            "GPUs: set reward.reward_model.enable_resource_pool=true, or leave ahead out."
        )
    if config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"{given} has an agent-loop manager of its own: leave out {manager}, or set it to null."


def partial_warnings(config: DictConfig) -> Iterator[str]:
    """What a run with partial rollouts does that its reader may not think of."""
    if not has_partial_rollouts(config):
        return
    ours = method(config) == "pacs"
    weight = "method.update.correction.kind" if ours else "algorithm.rollout_correction.rollout_is"
    if OmegaConf.select(config, weight) is None:
        value = "truncate (with method.reference.reset_every=1)" if ours else "token"
        yield (
            f"run.rollouts.partial.ahead={config.run.rollouts.partial.ahead}: some responses are by older weights, and "
            f"nothing makes up for that; {weight}={value} weighs tokens by the ratio of the two policies "
            "(docs/scaling.md#partial-rollouts)."
        )
