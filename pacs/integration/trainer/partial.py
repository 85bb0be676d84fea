"""Partial rollouts (`run.rollouts.partial`): a step does not wait for its longest responses.

verl's colocate_async at its own hooks. Policy and vLLM take turns on the GPUs, as in synchronous training, but more
prompts are sampled than a step trains on. It trains on the first that are done, oldest first; the responses that are
not done are broken off, keep their tokens, and go on when vLLM has the new weights. No response is thrown away, so that
long ones are not fewer: a step waits for prompts that would otherwise become too old. The queue of prompts and of
finished responses is part of the checkpoint, and what was being written when a run was cut off is written anew.
"""

import statistics
from typing import Any

import transfer_queue as tq
from omegaconf import DictConfig, open_dict

from pacs.integration.trainer.failed_prompts import NONE_LEFT
from pacs.integration.trainer.step_rows import prompt_uid
from pacs.verl_keys.config import has_partial_rollouts, prompts_ahead, prompts_per_step
from pacs.verl_keys.workload import engine_gpus

#: verl's name of its queue of training prompts, and of the mode in which it keeps them.
TRAIN, MODE = "train", "colocate_async"


def set_bounds(config: DictConfig) -> None:
    """Write the bound on staleness where verl's replay buffer reads it: a prompt that reaches it is waited for."""
    if has_partial_rollouts(config):
        sampler = config.trainer.v1.sampler
        with open_dict(sampler):
            # verl counts versions of the weights: those of a prompt's own step are the first.
            sampler.max_off_policy_threshold = config.run.rollouts.partial.max_staleness + 1
            sampler.max_off_policy_strategy = "wait"


class PartialRollouts:
    """What a trainer with partial rollouts does beside a synchronous one.

    Args:
        trainer: a `SynchronousTrainer`, whose replay buffer is verl's `ReplayBufferAsync`.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer, self.buffer = trainer, trainer.replay_buffer
        self.per_step, self.ahead = prompts_per_step(trainer.config), prompts_ahead(trainer.config)
        self.failed = 0
        self._verls_sample, self.buffer.sample = self.buffer.sample, self.sample
        self.buffer.refill_fn = self.replace_failed

    def hand_out(self) -> dict[str, Any]:
        """Hand out prompts, so that those of this step and those ahead of it are sampled; none that no step needs.

        Returns:
            No metrics, as verl's `prepare_step` does.
        """
        trainer = self.trainer
        trainer.prompts.begin_step(trainer.global_steps)
        self.failed = 0
        steps_left = trainer.phases.last_step - trainer.global_steps + 1
        wanted = min(self.per_step + self.ahead, steps_left * self.per_step)
        lacking = wanted - sum(bool(tag.get("is_prompt")) for tag in _queue().values())
        if lacking > 0:
            trainer._add_prompts_to_generate(lacking)
        return {}

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """As verl's `ReplayBufferAsync.sample`; then break off what is not done, where the update needs the GPUs."""
        batch, metrics = self._verls_sample(global_steps=global_steps, partition_id=partition_id, batch_size=batch_size)
        if partition_id == TRAIN:
            metrics |= self._metrics(batch, batch_size)
            if not engine_gpus(self.trainer.config):  # engines apart are stopped for new weights alone
                self.trainer.checkpoint_manager.abort_replicas()
        return batch, metrics

    def _metrics(self, batch: Any, prompts: int) -> dict[str, float]:
        """What is known when so many prompts' responses have been taken from the queue."""
        current = self.trainer.global_steps - 1  # verl numbers weights by the step that made them
        ages = [current - tag["min_global_steps"] for tag in batch.tags]
        parts = [tag["max_global_steps"] - tag["min_global_steps"] + 1 for tag in batch.tags]
        # The buffer's keys are those of its last look, before it took the batch's.
        unfinished = len(self.buffer.pending_keys[TRAIN] | self.buffer.running_keys[TRAIN])
        return {
            "pacs/partial/staleness_mean": statistics.fmean(ages),
            "pacs/partial/staleness_max": float(max(ages)),
            "pacs/partial/versions_mean": statistics.fmean(parts),
            "pacs/partial/unfinished_count": float(unfinished),
            "pacs/partial/finished_count": float(len(self.buffer.finished_keys[TRAIN]) - prompts),
            "pacs/partial/failed_count": float(self.failed),
        }

    def replace_failed(self, prompts: int) -> int:
        """Hand out another prompt for each that has failed.

        Raises:
            RuntimeError: as many as a step has prompts have failed in this one.
        """
        self.failed += prompts
        if self.failed >= self.per_step:
            raise RuntimeError(f"{self.failed} prompts of step {self.trainer.global_steps} have {NONE_LEFT}")
        handed_out: int = self.trainer._add_prompts_to_generate(prompts)
        return handed_out

    def go_on(self) -> None:
        """Let vLLM, which has the new weights, write on."""
        self.trainer.checkpoint_manager.resume_generation_replicas()

    def clear_trained(self) -> None:
        """Of a queue that a checkpoint had, clear the rows of the step that had been trained when it was written."""
        queue = _queue()
        prompts = {key for key, tag in queue.items() if tag.get("is_prompt")}
        trained = [key for key in queue if key not in prompts and prompt_uid(key) not in prompts]
        if trained:
            tq.kv_clear(keys=trained, partition_id=TRAIN)


def _queue() -> dict[str, dict[str, Any]]:
    """The tags of the prompts in the queue, and those of their responses, by key."""
    queue: dict[str, dict[str, Any]] = (tq.kv_list(TRAIN) or {}).get(TRAIN, {})
    return queue
