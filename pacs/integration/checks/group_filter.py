"""What sampling groups anew (`algorithm.filter_groups`) needs of a config, whatever is trained."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.wording import spelled
from pacs.rewards.registry import PATH
from pacs.verl_keys.config import draws_from_pool, filters_groups, responses_per_prompt

#: What a group can be filtered by whatever the reward function says beside.
ALWAYS_THERE = ("score", "reward")
#: The settings that are read with `enable` alone -> the values of one who does not mean to use them: ours, and verl's.
LEFT_AS_THEY_ARE = {"metric": ("score", None), "max_num_gen_batches": (10, 0), "max_inflight_gen_batches": (1,)}


@spelled
def filter_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose groups of one score are to be sampled anew; a sentence each."""
    section = "@algorithm.filter_groups."
    groups: Any = config.algorithm.get("filter_groups") or {}
    if not filters_groups(config):
        for name, left in LEFT_AS_THEY_ARE.items():
            if groups.get(name, left[0]) not in left:
                yield f"{section}{name}= is not read without {section[1:]}enable: set that to true, or leave this out."
        return
    given = f"{section[1:]}enable=true"
    if not groups.get("metric") or (
        config.reward.custom_reward_function.path == PATH and groups.get("metric") not in ALWAYS_THERE
    ):
        yield (
            f"{section}metric=: groups are filtered by a number that the verifier gives: use score, or "
            "reward (with what was taken off for length)."
        )
    for name, least in (("max_num_gen_batches", 0), ("max_inflight_gen_batches", 1)):
        if type(groups.get(name, least)) is not int or groups.get(name, least) < least:
            means = "0: no limit" if least == 0 else "how many may be sampled at once"
            yield f"{section}{name}=: use a whole number of batches of at least {least} ({means})."
    if responses_per_prompt(config) < 2:
        yield f"{given}: one response (@rollout.n=) differs from nothing, and no group would be filtered: sample more."
    if config.data.get("gen_batch_size") not in (None, 1):
        yield f"{given}: prompts are drawn one by one, whatever @data.gen_batch_size= says: leave that out."
    if draws_from_pool(config):
        yield (
            f"{given}: a filter draws the data in their order, and @run.rollouts.pool.weights= by their pass "
            "rates (and so fewer groups that are all alike): leave out either."
        )
    model, sampler = config.reward.reward_model, config.trainer.v1.sampler
    if model.enable and not model.enable_resource_pool:
        yield (
            f"{given}: @reward.reward_model.enable=true without a pool of its own grades when all responses are there, "
            "too late for a filter: set reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    if OmegaConf.select(config, "skip.rollout_tq.enable"):
        yield f"{given}: @skip.rollout_tq.enable=true would keep none of the rollouts that are drawn: leave out either."
    if (sampler.get("custom_sampler") or {}).get("path"):
        yield f"{given}: @trainer.v1.sampler.custom_sampler.path= would not filter: leave out either."
