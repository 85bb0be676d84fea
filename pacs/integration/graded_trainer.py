"""What a step has in common whatever is trained: rollouts that were graded, and what is kept of them."""

from typing import Any

import torch
import transfer_queue as tq

from pacs.integration.durable_trainer import DurableTrainer
from pacs.integration.step_rows import prompt_uid, row_sums
from pacs.metrics import batch_metrics
from pacs.rewards.health import check_graded

#: Seconds between two looks at whether the rollouts are done; verl's 2 s would be most of a tiny model's step.
ROLLOUT_POLL_SECONDS = 0.2


class GradedTrainer(DurableTrainer):
    """A durable trainer of responses that a verifier has graded.

    Args:
        config: as for `DurableTrainer`.
    """

    def _build_replay_buffer(self) -> Any:
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = ROLLOUT_POLL_SECONDS
        return buffer

    def grades(self, batch: Any) -> Any:
        """What `grade_metrics` reads of all rows: rewards, masks, and what the verifier said."""
        fields = ["rm_scores", "response_mask", "extra_fields"]
        return tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)

    def grade_metrics(
        self, batch: Any, data: Any, correct: torch.Tensor, group_ids: torch.Tensor, alone: torch.Tensor
    ) -> dict[str, float]:
        """Stop a run whose verifier does not work; else the metrics of the sampled batch.

        Args:
            batch: verl's, with padding.
            data: its `grades`.
            correct: (B,) 1 where the response is right.
            group_ids: (B,) int64, the number of the row's prompt.
            alone: (B,) bool, the row is dropped for want of others in its group.

        Raises:
            VerifierFailure: The verifier failed on more responses than `pacs.faults.verifier_errors`.
        """
        sampled = torch.tensor([not is_padding(tag) for tag in batch.tags])
        infos = verifier_infos(data.get("extra_fields").tolist(), sampled)
        check_graded(infos, self.config.pacs.faults.verifier_errors)
        limit = self.config.data.max_response_length
        return batch_metrics(
            group=group_ids[sampled],
            correct=correct[sampled],
            tokens=row_sums(data["response_mask"])[sampled],
            truncated=torch.tensor([tag["response_len"] >= limit for tag in batch.tags])[sampled],
            alone=alone[sampled],
            status=verifier_statuses(infos),
        )

    def _log_rollout_data(self, batch: Any, timing_raw: dict[str, float], rollout_data_dir: str) -> None:
        """Write the responses of the step's first groups; all of them would be gigabytes a day."""
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not is_padding(tag)]
        uids = list(dict.fromkeys(prompt_uid(key) for key in keys))[: self.config.pacs.sample_groups]
        if uids:
            sample = batch.select_keys([key for key in keys if prompt_uid(key) in uids])
            super()._log_rollout_data(sample, timing_raw, rollout_data_dir)


def is_padding(tag: dict[str, Any]) -> bool:
    """Whether verl's tag is that of a row that fills the batch up."""
    return bool(tag.get("is_padding", False))


def verifier_infos(extra_fields: list[dict[str, Any]], sampled: torch.Tensor) -> list[dict[str, Any]]:
    """What the verifier said beside the score of each of the `sampled` rows ((B,) bool)."""
    rows = zip(extra_fields, sampled.tolist(), strict=True)
    return [extra.get("reward_extra_info", {}) for extra, is_sampled in rows if is_sampled]


def verifier_statuses(infos: list[dict[str, Any]]) -> list[str] | None:
    """The verifier's `status` of each response; None if it gives none."""
    return [str(info["status"]) for info in infos] if all("status" in info for info in infos) else None
