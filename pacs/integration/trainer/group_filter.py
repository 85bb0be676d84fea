"""Groups whose responses have all earned the same are sampled anew (`algorithm.filter_groups`), whatever the method.

DAPO's dynamic sampling. verl's replay buffer has it too, and takes the groups that are done first: another choice in
every run, of short responses as a rule. Here a step trains on the first groups that differ within themselves *in the
order in which their prompts were drawn*, whichever is done first. What was drawn after the last of them is drawn again
in the next step. So the same seeds give the same batches, and a run that was cut off goes on with them.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import DAPO_FILTERED_REWARD_COUNTS_KEY

from pacs.integration.exchange import PREFIX
from pacs.integration.trainer.failed_prompts import NONE_LEFT
from pacs.integration.trainer.grades import Grades, joined
from pacs.integration.trainer.step_rows import prompt_uid
from pacs.rewards.verdict import check_graded

#: Prompts that are drawn for each group that is filtered, as verl does: about half of them may be filtered, too.
DRAWN_FOR_ONE = 2


def prompts_used(kept: Sequence[bool | None], wanted: int) -> int | None:
    """How many of the prompts, from the first on, it takes for so many groups; None while that cannot be known.

    Args:
        kept: of each prompt, in the order in which they were drawn, whether its group is trained on; None: not known.
        wanted: groups.
    """
    found = 0
    for number, group_is_kept in enumerate(kept, start=1):
        if group_is_kept is None:
            return None
        found += group_is_kept
        if found == wanted:
            return number
    return None


def prompts_to_draw(kept: Sequence[bool | None], wanted: int, *, at_once: int, most: int | None) -> int:
    """How many more prompts to draw now.

    Args:
        kept: as for `prompts_used`, of all prompts that were drawn in the step.
        wanted: groups.
        at_once: prompts that may be sampled at once.
        most: that may be drawn in a step; None: any number.
    """
    verdicts = Counter(kept)
    if verdicts[True] >= wanted:
        return 0
    lacking = wanted + DRAWN_FOR_ONE * verdicts[False] - len(kept)
    room = at_once - verdicts[None] if most is None else min(at_once - verdicts[None], most - len(kept))
    return max(0, min(lacking, room))


class GroupFilter:
    """Takes the place of the sampling of verl's replay buffer where groups are filtered.

    Args:
        trainer: a `SynchronousTrainer`.

    Attributes:
        dropped: grades of the step's filtered groups, for what is logged; None without such.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer, self.buffer = trainer, trainer.replay_buffer
        self.dropped: Grades | None = None
        if trainer.prompts.filters:
            self.settings = trainer.config.algorithm.filter_groups
            self.verls_sample = self.buffer.sample
            self.buffer.sample = self.sample

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        """As verl's `ReplayBuffer.sample`: wait for so many groups.

        Raises:
            RuntimeError: `max_num_gen_batches` batches of prompts have too few of them, or all prompts failed.
            VerifierFailure: as for `Grading.grade`.
        """
        if partition_id == "val":
            where = {"global_steps": global_steps, "partition_id": partition_id}
            sampled: tuple[KVBatchMeta, dict[str, Any]] = self.verls_sample(**where, batch_size=batch_size)
            return sampled
        per_step, limit = self.trainer.config.data.train_batch_size, self.settings.max_num_gen_batches
        at_once, most = self.settings.max_inflight_gen_batches * per_step, limit * per_step if limit > 0 else None
        verdicts: dict[str, bool] = {}
        filtered: dict[str, Grades] = {}
        while True:
            self.buffer._sync_metadata_from_transfer_queue()
            self._judge(partition_id, verdicts, filtered)
            uids = [f"{global_steps}-{number}" for number in range(self.trainer.prompts.drawn)]
            kept = [verdicts.get(uid) for uid in uids]
            used = prompts_used(kept, batch_size)
            more = 0 if used else prompts_to_draw(kept, batch_size, at_once=at_once, most=most)
            if more:
                self.buffer.refill_fn(more)
            elif None in kept:  # also where enough are known: a response that is being sampled cannot be left alone
                time.sleep(self.buffer.poll_interval)
            elif used:
                break
            else:
                raise self._too_few(len(uids), filtered)
        self.trainer.prompts.use(used)
        dropped = [uid for uid in uids[:used] if uid in filtered]
        failed = used - batch_size - len(dropped)
        self.dropped = joined([filtered[uid] for uid in dropped]) if dropped else None
        self.buffer._clear_groups(partition_id, {uid for uid in uids[used:] if verdicts[uid]})
        selected = [uid for uid in uids[:used] if verdicts[uid]]
        batch = self.buffer._materialize_batch(partition_id, selected, dict(self.buffer.partitions[partition_id]))
        if not batch.keys:
            raise RuntimeError(f"the groups of step {global_steps} have {NONE_LEFT}")
        # By verl's names.
        metrics: dict[str, Any] = {
            "training/filter_groups/evicted_samples": len(dropped),
            "training/filter_groups/discarded_surplus_samples": len(uids) - used,
        }
        if failed:
            metrics["training/rollout_failure/evicted_samples"] = failed
        if dropped:
            values = [self._values(filtered[uid])[0] for uid in dropped]
            metrics[DAPO_FILTERED_REWARD_COUNTS_KEY] = dict(Counter(values))
        return batch, metrics

    def _judge(self, partition_id: str, verdicts: dict[str, bool], filtered: dict[str, Grades]) -> None:
        """Look at the groups that have become complete; keep the grades of those that are filtered, and nothing else.

        A prompt of which no response is there, or one, has nothing that differs or not, and takes its place as it does
        without a filter; unless verl is asked to replace failed prompts.
        """
        buffer, rows = self.buffer, self.buffer.partitions[partition_id]
        done = (buffer.finished_keys[partition_id] | buffer.failure_keys[partition_id]) - verdicts.keys()
        if not done:
            return
        groups: dict[str, list[str]] = {uid: [] for uid in done}
        for key in sorted(rows):
            if (uid := prompt_uid(key)) in groups:
                groups[uid].append(key)
        keys = [key for group in groups.values() for key in group]
        read = self.trainer.grading.read
        grades: Any = read(KVBatchMeta(keys, [rows[key] for key in keys], partition_id)) if keys else None
        first = 0
        for uid, group in groups.items():
            verdicts[uid] = bool(group) or not buffer.sync_refill_failed_groups
            if grades is not None and len(group) > 1:
                of_group = grades.rows(first, first + len(group))
                values = self._values(of_group)
                if all(value == values[0] for value in values):
                    verdicts[uid], filtered[uid] = False, of_group
            first += len(group)
        buffer._clear_groups(partition_id, {uid for uid in done if not verdicts[uid]})

    def _values(self, grades: Grades) -> list[float]:
        """What groups are filtered by, of each response."""
        metric = self.settings.metric
        if metric in ("score", "reward"):
            values: list[float] = (grades.scores if metric == "score" else grades.rewards).tolist()
            return values
        missing = next((info for info in grades.infos if metric not in info), None)
        if missing is not None:
            there = ", ".join(name for name in missing if not name.startswith(PREFIX))
            said = f"the reward function says nothing of that name (it says {there})"
            raise RuntimeError(f"algorithm.filter_groups.metric={metric}: {said}: name one of these, or use score")
        return [float(info[metric]) for info in grades.infos]

    def _too_few(self, drawn: int, filtered: Mapping[str, Grades]) -> RuntimeError:
        """The error of a step that may draw no more."""
        said = [info for grades in filtered.values() for info in grades.infos]
        check_graded(said, self.trainer.config.run.faults.verifier_errors)
        few = f"{drawn} prompts were sampled, and too few of them had responses of different scores"
        limit = f"algorithm.filter_groups.max_num_gen_batches={self.settings.max_num_gen_batches} (0: no limit)"
        why = f"the data is too easy or too hard for this policy now, or raise {limit}"
        return RuntimeError(f"step {self.trainer.global_steps}: {few}: {why}")
