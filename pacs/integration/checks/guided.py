"""What another try with guidance (`run.rollouts.guided`) needs of a config, and of the data."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.wording import spelled
from pacs.rewards.guidance import PLACE, Kind, guidance_of
from pacs.runs.settings import GuidedSettings
from pacs.verl_keys.config import draws_more, filters_groups, guides, method, values_steps

_SECTION = "@run.rollouts.guided."


@spelled
def guided_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose wrong responses are to be tried again; a sentence each."""
    guided = config.run.rollouts.guided
    if not guides(config):
        for name, default in GuidedSettings():
            if name != "after" and guided.get(name) not in (default, None):
                yield (
                    f"{_SECTION}{name}= is not read without run.rollouts.guided.after: set that to failed or unsolved, "
                    "or leave this out."
                )
        return
    given = f"{_SECTION}after="
    if PLACE not in str(guided.text):
        yield f"{_SECTION}text=: the guidance has no place in it: write {PLACE} where it is to stand."
    if guided.guidance != "solution" and guided.part != GuidedSettings().part:
        yield f"{_SECTION}part= is of guidance=solution alone: leave it out, or set that."
    if guided.guidance != "error" and guided.characters != GuidedSettings().characters:
        yield f"{_SECTION}characters= is of guidance=error alone: leave it out, or set that."
    if draws_more(config):
        yield f"{given}: @run.rollouts.dars.schedule= draws more responses to the same prompts: leave out either."
    if values_steps(config):
        yield f"{given}: @run.rollouts.vine.completions= values steps of first responses: leave out either."
    if filters_groups(config) and config.algorithm.filter_groups.metric == "score":
        yield (
            f"{given}: a filter by @algorithm.filter_groups.metric=score sees first responses alone, and would drop "
            "the groups that a retry has mixed: set that to reward, or leave out either."
        )
    if config.reward.reward_model.enable and not config.reward.reward_model.enable_resource_pool:
        yield (
            f"{given}: @reward.reward_model.enable=true without a pool of its own grades when all responses are there, "
            "too late for a retry: set reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    if config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"{given} has an agent-loop manager of its own: leave out {manager}, or set it to null."


@spelled
def guided_warnings(config: DictConfig) -> Iterator[str]:
    """What a run with retries does that its reader may not think of."""
    if not guides(config):
        return
    if method(config) == "pacs":
        weight, value = "method.update.correction.kind", "truncate"
    else:
        weight, value = "algorithm.rollout_correction.rollout_is", "token"
    if OmegaConf.select(config, weight) is None:
        yield (
            f"{_SECTION}after=: retries are sampled with guidance and trained without it, at the weight of any other "
            f"response, which is biased; {weight}={value} weighs tokens by the ratio of the two (docs/rewards.md)."
        )


def guidance_problems(config: DictConfig, train_files: list[Path]) -> Iterator[str]:
    """Whether the data hold the guidance that is to be told; a sentence with the setting and the mend."""
    kind: Kind = config.run.rollouts.guided.guidance if guides(config) else "error"
    if kind == "error":
        return
    for file in train_files:
        schema = pq.read_schema(file)
        if "extra_info" in schema.names:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=1000, columns=["extra_info"]):
                for row in batch.column(0).to_pylist():
                    if guidance_of(kind, row or {}, {}, part=1.0, characters=1) is not None:
                        return
    files = ", ".join(map(str, train_files))
    yield (
        f"run.rollouts.guided.guidance={kind}: no row of data.train_files={files} has a text extra_info.{kind}: add "
        "one to the rows that may be tried again, or use error."
    )
