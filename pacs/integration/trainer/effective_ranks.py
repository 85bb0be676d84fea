"""Effective ranks of a step's responses: fetched, logged by class, and carried to the next step's token weight."""

from collections.abc import Mapping
from typing import Any

import torch
import transfer_queue as tq
from verl.workers.utils.padding import response_from_nested

from pacs.algorithm.carried import rank_stride, remembered
from pacs.algorithm.effective_rank import growth
from pacs.algorithm.era import NAMES
from pacs.integration.exchange import RANKS, RowFields


def ranks_are_due(trainer: Any) -> bool:
    """Whether this step's pass of log pi_old gives them: for the token weight, or at their interval."""
    every = trainer.method.metrics.effective_rank_every
    return RANKS in trainer.method.reads or (every is not None and trainer.global_steps % every == 0)


def ranks_of(trainer: Any, where: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Jagged (B, T): of each response's tokens, where the worker gave them for prompt and response; and the mask.

    None where they are not due.
    """
    if not ranks_are_due(trainer):
        return None
    given = tq.kv_batch_get(select_fields=[RANKS, "response_mask"], **where)
    return response_from_nested(given[RANKS], given["response_mask"]), given["response_mask"]


def rank_metrics(trainer: Any, measured: tuple[torch.Tensor, torch.Tensor] | None, rows: RowFields) -> dict[str, float]:
    """Rank, velocity and acceleration by class; and what the token weight carries, which is found there on a resume.

    The classes are the verifier's, as of all metrics of right and wrong responses: none where it gives other scores.
    """
    if measured is None:
        return {}
    (ranks, mask), row_mask, scores = measured, rows.row_mask, trainer.grades.scores
    right, wrong = scores == 1, scores == 0
    classes = (("correct", right), ("wrong", wrong)) if (right | wrong)[row_mask].all() else ()
    padded = ranks.to_padded_tensor(0)
    mask = (mask.to_padded_tensor(0) != 0) & row_mask[:, None]
    metrics = {}
    for name, values in zip(NAMES, growth(padded, mask, rank_stride(trainer.method) or 2), strict=True):
        for word, of_class in classes:
            if (chosen := of_class & mask.any(dim=1)).any():
                metrics[f"pacs/effective_rank/{name}_{word}_mean"] = float(values[chosen].mean())
    trainer.memory = remembered(trainer.method, mask, row_mask, {RANKS: padded}, trainer.memory)
    return metrics | {logged_as(name): value for name, value in trainer.memory.items()}


def logged_as(name: str) -> str:
    """The metric of a number that a token weight carries from step to step."""
    return f"pacs/token_weight/{name}_mean"
