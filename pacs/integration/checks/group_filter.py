"""What sampling groups anew (`algorithm.filter_groups`) needs of a config, whatever is trained."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.rewards.registry import PATH
from pacs.verl_keys.config import filters_groups, responses_per_prompt

#: What a group can be filtered by whatever the reward function says beside.
ALWAYS_THERE = ("score", "reward")


@spelled
def filter_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose groups of one score are to be sampled anew; a sentence each."""
    section = "@algorithm.filter_groups."
    yield from feature_problems(config, "algorithm.filter_groups.enable")
    if not filters_groups(config):
        return
    groups = config.algorithm.filter_groups
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
