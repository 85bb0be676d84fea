"""Groups whose rewards hardly differ are left out of a step (`run.rlpr.std_filter`), whatever the method.

They are not sampled anew, so that such a step has fewer rows. What is logged of the step counts them.
"""

import json
from pathlib import Path
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta

from pacs.algorithm.groups import make_groups
from pacs.algorithm.std_filter import StdFilter, group_stds
from pacs.base.files import read_json, write_atomically
from pacs.base.terminal import print
from pacs.integration.trainer.arrangement import sampling_order
from pacs.rewards.verdict import check_graded
from pacs.runs.console import MARK
from pacs.runs.settings import RlprSettings
from pacs.verl_keys.algorithm_changes import plain

#: The file of a checkpoint that holds what is usual.
STATE = "std_filter.json"


class GroupsThatDiffer:
    """Takes the place of the sampling of verl's replay buffer where such groups are left out.

    Args:
        trainer: a `SynchronousTrainer`.
    """

    def __init__(self, trainer: Any) -> None:
        settings = RlprSettings.from_mapping(plain(trainer.config.run.rlpr)).std_filter
        self.trainer = trainer
        self._filter: StdFilter | None = None
        if settings.share is not None:
            self._filter = StdFilter(settings.share, settings.decay, settings.first_step)
            self.verls_sample = trainer.replay_buffer.sample
            trainer.replay_buffer.sample = self.sample

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """As verl's `ReplayBuffer.sample`, less the groups that are left out.

        Raises:
            VerifierFailure: as for `Grading.grade`, since a group of failures would be left out.
        """
        where = {"global_steps": global_steps, "partition_id": partition_id, "batch_size": batch_size}
        batch, metrics = self.verls_sample(**where)
        if partition_id == "val":
            return batch, metrics
        assert self._filter is not None
        batch.reorder(sampling_order(batch.keys))  # sums in any other order may differ in their last bit
        grades = self.trainer.grading.read(batch)
        check_graded(grades.infos, self.trainer.config.run.faults.verifier_errors)
        groups = make_groups(grades.group_ids)
        of_groups = self._filter.keep(global_steps, group_stds(grades.rewards, groups))
        kept = groups.of_rows(of_groups).tolist()
        dropped = [row for row, keep in enumerate(kept) if not keep]
        self.trainer.group_filter.dropped = None
        if dropped:
            keys, tags = [batch.keys[row] for row in dropped], [batch.tags[row] for row in dropped]
            of_dropped = self.trainer.grading.read(KVBatchMeta(keys, tags, partition_id))
            self.trainer.group_filter.dropped = of_dropped
            if self.trainer.prompts.pool is not None:
                self.trainer.prompts.pool.observe(keys, of_dropped)
            self.trainer.prompts.discarded_tokens += int(of_dropped.written.sum())
            tq.kv_clear(partition_id=partition_id, keys=keys)
            batch = batch.select_keys([key for key, keep in zip(batch.keys, kept, strict=True) if keep])
        metrics["pacs/std_filter/dropped_count"] = float((~of_groups).sum())
        metrics["pacs/std_filter/usual_mean"] = self._filter.usual or 0.0
        return batch, metrics

    def save(self, checkpoint: Path) -> None:
        """Write what is usual into a checkpoint."""
        if self._filter is not None:
            write_atomically(checkpoint / STATE, json.dumps({"usual": self._filter.usual}) + "\n")

    def load(self, checkpoint: Path) -> None:
        """Go on with it; anew, and saying so, where the checkpoint has none."""
        if self._filter is None:
            return
        if (state := read_json(checkpoint / STATE)) is None:
            print(f"{MARK}run.rlpr.std_filter: the checkpoint has none: what is usual is learned anew", flush=True)
        else:
            self._filter.usual = state["usual"]
