"""The order of a run's prompts, and how many are sampled in place of filtered groups."""

from typing import Any

from omegaconf import DictConfig
from verl.utils import tensordict_utils as tu

from pacs.integration.trainer.step_rows import prompt_uid


class PromptOrder:
    """Numbers the prompts as they are drawn, so that rows can be arranged alike in every run.

    Args:
        config: verl's.

    Attributes:
        resampled: prompts drawn in this step in place of groups that were filtered.
        discarded_tokens: of the responses that were sampled in this step and thrown away, filtered groups as a rule.
    """

    def __init__(self, config: DictConfig) -> None:
        self.config = config
        self.drawn = self.resampled = self.discarded_tokens = 0

    def count(self, step: int, num_prompts: int | None) -> None:
        """Count the prompts that take the place of filtered groups (None: a step begins).

        verl's synchronous trainer does not heed `algorithm.filter_groups.max_num_gen_batches`, and would sample for
        ever where the policy solves all problems, or none.

        Raises:
            RuntimeError: Prompts of more batches than that were drawn.
        """
        if num_prompts is None:
            self.resampled = self.discarded_tokens = 0
        else:
            self.resampled += num_prompts
        most = self.config.algorithm.filter_groups.max_num_gen_batches
        sampled = self.config.data.train_batch_size + self.resampled
        if 0 < most * self.config.data.train_batch_size < sampled:
            few = f"step {step}: {sampled} prompts were sampled, and too few of them had responses of different scores"
            mend = f"raise algorithm.filter_groups.max_num_gen_batches={most} (0: no limit)"
            raise RuntimeError(f"{few}: the data is too easy or too hard for this policy now, or {mend}")

    def number(self, step: int, batch: Any) -> Any:
        """Give the prompts of verl's batch ids `{step}-{number}` in the order in which they were drawn."""
        first = self.drawn
        self.drawn += len(batch)
        tu.assign_non_tensor_stack(batch, "uid", [f"{step}-{first + i}" for i in range(len(batch))])
        return batch

    def count_discarded(self, buffer: Any) -> None:
        """Follow what verl's replay buffer throws away: it says how many groups, and not how long they are."""
        clear_groups = buffer._clear_groups

        def clear_and_count(partition_id: str, uids: set[str]) -> None:
            if partition_id == "train":
                rows = buffer.partitions[partition_id].items()
                self.discarded_tokens += sum(tag["response_len"] for key, tag in rows if prompt_uid(key) in uids)
            clear_groups(partition_id, uids)

        buffer._clear_groups = clear_and_count
