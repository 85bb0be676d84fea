"""The teacher's pass over a step's responses."""

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import torch
import transfer_queue as tq
from verl.workers.utils.padding import response_from_nested

from pacs.algorithm.distillation import TEACHER


def teach(trainer: Any, batch: Any) -> dict[str, float]:
    """Have the workers' teacher write log pi_teacher of each response token, as verl does it for a reference.

    Returns:
        The seconds that it took, as a metric.
    """
    begun = perf_counter()
    temperature = trainer.config.actor_rollout_ref.rollout.temperature
    batch.extra_info |= {"calculate_entropy": False, "compute_loss": False, "temperature": temperature}
    trainer.actor_rollout_wg.compute_ref_log_prob(batch)
    where = {"keys": batch.keys, "partition_id": batch.partition_id}
    data = tq.kv_batch_get(select_fields=["log_probs", "response_mask"], **where)
    data[TEACHER] = response_from_nested(data.pop("log_probs"), data["response_mask"])
    tq.kv_batch_put(fields=data.select(TEACHER), **where)
    return {"timing_s/teacher": perf_counter() - begun}


def teacher_metrics(tokens: Mapping[str, torch.Tensor] | None, sampled: torch.Tensor) -> dict[str, float]:
    """How far the policy is from its teacher: the mean over tokens of log pi_old - log pi_teacher, as a KL estimate.

    Args:
        tokens: jagged (B, T) each: what the method reads.
        sampled: (B,) bool, the row is a response and not padding.
    """
    if tokens is None or TEACHER not in tokens.keys():  # noqa: SIM118 (a TensorDict's `in`)
        return {}
    mask = (tokens["response_mask"].to_padded_tensor(0) != 0) & sampled[:, None]
    gaps = tokens["old_log_probs"].to_padded_tensor(0) - tokens[TEACHER].to_padded_tensor(0)
    return {"pacs/teacher/gap_per_token": float(gaps[mask].double().mean())}
