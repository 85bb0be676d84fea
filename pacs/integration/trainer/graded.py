"""What a step has in common whatever is trained: rollouts that were graded, and what is kept of them."""

from typing import Any

import torch
import transfer_queue as tq
from omegaconf import DictConfig

from pacs.base.terminal import print
from pacs.integration.trainer.durable import DurableTrainer
from pacs.integration.trainer.scores import is_finite, not_finite, verifier_infos, verifier_statuses
from pacs.integration.trainer.step_rows import prompt_uid, row_sums
from pacs.metrics import batch_metrics, validation_metrics
from pacs.rewards.health import check_graded

#: Seconds between two looks at whether the rollouts are done; verl's 2 s would be most of a tiny model's step.
ROLLOUT_POLL_SECONDS = 0.2


class GradedTrainer(DurableTrainer):
    """A durable trainer of responses that a verifier has graded.

    Args:
        config: as for `DurableTrainer`.
    """

    def __init__(self, config: DictConfig) -> None:
        self.warned_of_graded_scores = False
        self.validated_prompts: list[str] = []
        super().__init__(config)

    def _build_replay_buffer(self) -> Any:
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = ROLLOUT_POLL_SECONDS
        return buffer

    def grades(self, batch: Any) -> Any:
        """What `grade_metrics` reads of all rows: rewards, masks, and what the verifier said.

        Raises:
            ValueError: A reward is not finite.
        """
        fields = ["rm_scores", "response_mask", "extra_fields"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
        scores = row_sums(data["rm_scores"]).tolist()
        if not is_finite(scores):
            fields = ["data_source", "prompts"]
            asked = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=fields)
            prompts = [self.tokenizer.decode(ids, skip_special_tokens=True) for ids in asked["prompts"].unbind()]
            raise not_finite(scores, asked.get("data_source").tolist(), prompts, f"step {self.global_steps}")
        return data

    def grade_metrics(
        self, batch: Any, data: Any, scores: torch.Tensor, group_ids: torch.Tensor, alone: torch.Tensor
    ) -> dict[str, float]:
        """Stop a run whose verifier does not work; else the metrics of the sampled batch.

        Args:
            batch: verl's, with padding.
            data: its `grades`.
            scores: (B,) of the verifier, or of the run's own reward function: 1 where the response is right, 0 where
                it is wrong, or graded.
            group_ids: (B,) int64, the number of the row's prompt.
            alone: (B,) bool, the row is dropped for want of others in its group.

        Raises:
            VerifierFailure: The verifier failed on more responses than `pacs.faults.verifier_errors`.
        """
        sampled = torch.tensor([not is_padding(tag) for tag in batch.tags])
        infos = verifier_infos(data.get("extra_fields").tolist(), sampled)
        check_graded(infos, self.config.pacs.faults.verifier_errors)
        limit = self.config.data.max_response_length
        metrics = batch_metrics(
            group=group_ids[sampled],
            score=scores[sampled],
            tokens=row_sums(data["response_mask"])[sampled],
            truncated=torch.tensor([tag["response_len"] >= limit for tag in batch.tags])[sampled],
            alone=alone[sampled],
            status=verifier_statuses(infos),
        )
        self.warn_of_graded_scores(metrics)
        return metrics

    def _val_metrics_update(
        self,
        data_sources: list[str],
        sample_uids: list[str],
        reward_extra_infos_dict: dict[str, list[Any]],
        sample_turns: list[int],
        expected_acc_counts: dict[tuple[str, str], int],
    ) -> dict[str, float]:
        """verl's metrics of a validation, and ours.

        Raises:
            ValueError: A score is not finite.
        """
        scores = reward_extra_infos_dict["reward"]
        if not is_finite(scores):
            prompts = self.validated_prompts or sample_uids
            raise not_finite(scores, data_sources, prompts, f"the validation at step {self.global_steps}")
        verls: dict[str, float] = super()._val_metrics_update(
            data_sources, sample_uids, reward_extra_infos_dict, sample_turns, expected_acc_counts=expected_acc_counts
        )
        problems = list(zip(map(str, data_sources), map(str, sample_uids), strict=True))
        ours = validation_metrics(expected_acc_counts, problems, scores)
        self.warn_of_graded_scores(ours)
        return verls | ours

    def _maybe_log_val_generations(self, inputs: list[str], outputs: list[str], scores: list[float]) -> None:
        """verl's; the prompts are kept for what is wrong with a score."""
        self.validated_prompts = inputs
        super()._maybe_log_val_generations(inputs, outputs, scores)

    def warn_of_graded_scores(self, metrics: dict[str, float]) -> None:
        """Say once a start that the reward function gives scores other than 0 and 1, and what follows from that."""
        counts = [f"{key}={value:g}" for key, value in metrics.items() if key.endswith("/graded_count") and value > 0]
        if counts and not self.warned_of_graded_scores:
            self.warned_of_graded_scores = True
            print(
                f"pacs: step {self.global_steps}: the reward function gives scores other than 0 and 1 "
                f"({', '.join(counts)}). What is counted of right and wrong responses, of groups and as pass@k is left "
                "out of steps and sources with such scores: the mean score is critic/score/mean and "
                "val-core/*/mean@k. Set a threshold to the scores if right and wrong are meant.",
                flush=True,
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
