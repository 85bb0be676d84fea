"""What another try with guidance (`run.rollouts.guided`) needs of a config, and of the data."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from omegaconf import DictConfig

from pacs.integration.checks.features import feature_problems, weights_by_ratio
from pacs.integration.checks.wording import spelled
from pacs.rewards.guidance import PLACE, Kind, guidance_of
from pacs.runs.settings import GuidedSettings
from pacs.verl_keys.config import filters_groups, guides

_SECTION = "@run.rollouts.guided."


@spelled
def guided_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose wrong responses are to be tried again; a sentence each."""
    yield from feature_problems(config, "run.rollouts.guided.after")
    if not guides(config):
        return
    guided = config.run.rollouts.guided
    if PLACE not in str(guided.text):
        yield f"{_SECTION}text=: the guidance has no place in it: write {PLACE} where it is to stand."
    if guided.guidance != "solution" and guided.part != GuidedSettings().part:
        yield f"{_SECTION}part= is of guidance=solution alone: leave it out, or set that."
    if guided.guidance != "error" and guided.characters != GuidedSettings().characters:
        yield f"{_SECTION}characters= is of guidance=error alone: leave it out, or set that."
    if filters_groups(config) and config.algorithm.filter_groups.metric != "reward":
        yield (
            f"{_SECTION}after=: a filter by @algorithm.filter_groups.metric= sees first responses alone, and would "
            "drop the groups that a retry has mixed: set that to reward, or leave out either."
        )


@spelled
def guided_warnings(config: DictConfig) -> Iterator[str]:
    """What a run with retries does that its reader may not think of."""
    if guides(config) and (mend := weights_by_ratio(config)):
        yield (
            f"{_SECTION}after=: retries are sampled with guidance and trained without it, at the weight of any other "
            f"response, which is biased; {mend} (docs/rewards.md)."
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
