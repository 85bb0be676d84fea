"""From the responses of a step, before any update, to metrics."""

from collections.abc import Sequence

import torch

from pacs.metrics.reduce import reduced
from pacs.metrics.reductions import (
    CORRECT_RESPONSES,
    FIRST,
    GROUPS,
    OTHER,
    RESPONSES,
    SAMPLED,
    STATUSES,
    WRONG_RESPONSES,
)


def batch_metrics(
    *,
    group: torch.Tensor,
    score: torch.Tensor,
    tokens: torch.Tensor,
    truncated: torch.Tensor,
    alone: torch.Tensor,
    status: Sequence[str] | None,
    unfinished: Sequence[float] | None = None,
    first: torch.Tensor | None = None,
) -> dict[str, float]:
    """The metrics of a step's sampled batch, before any update.

    A metric without a row (or group) to reduce is left out; counts are then 0. Right and wrong are only told apart
    where all scores are 0 or 1: with any other score, the metrics of right and of wrong responses and of groups are
    left out, counts among them, and `pacs/rows/graded_count` is above 0.

    Args:
        group: (B,) int64, any values: rows of one prompt have the same. Padding rows are not given.
        score: (B,) the reward function's: the label R, 0 or 1, or a graded one. Finite.
        tokens: (B,) tokens of the response.
        truncated: (B,) 1 if the response was stopped by the limit on its length.
        alone: (B,) 1 if too few others of its group are left to compare it with: dropped, and only counted here.
        status: B statuses of the verifier; None if it gives none.
        unfinished: B numbers, 1 where the response ended within its reasoning; None where that is not known.
        first: (B,) 1 if the response is one of the first to its prompt, and none that DARS has added; None: there is no
            second stage, and no metric of it.

    Returns:
        Metric -> value.
    """
    kept = alone == 0
    right = score == 1
    graded = ~right & (score != 0)
    columns = {"graded": graded, "alone": ~kept, "truncated": truncated, "tokens": tokens}
    if status is not None:
        known = [word if word in STATUSES else OTHER for word in status]
        columns |= {f"status_{kind}": torch.tensor([word == kind for word in known]) for kind in (*STATUSES, OTHER)}
    if unfinished is not None:
        columns["unfinished"] = torch.tensor(unfinished)
    begun = torch.ones_like(kept) if first is None else first != 0
    selections = {SAMPLED: torch.ones_like(kept), RESPONSES: kept, FIRST: kept & begun}
    classes = not graded[kept].any()
    if classes:
        columns |= {"correct": right, "wrong": ~right}
        selections |= {CORRECT_RESPONSES: kept & right, WRONG_RESPONSES: kept & ~right}
    groups = _group_table(group[kept], right[kept] if classes else None, None if first is None else begun[kept])
    return reduced({name: column.double() for name, column in columns.items()}, selections) | reduced(*groups)


def _group_table(
    group: torch.Tensor, correct: torch.Tensor | None, first: torch.Tensor | None
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """One row a group of the (B,) responses: its classes if they are known, and what a second stage has added to it.

    A single response is no group to compare.
    """
    index = group.unique(return_inverse=True)[1]
    sizes = index.bincount()
    columns: dict[str, torch.Tensor] = {}
    if correct is not None:
        right = index[correct].bincount(minlength=len(sizes))
        columns |= {"mixed": (right > 0) & (right < sizes), "all_correct": right == sizes, "all_wrong": right == 0}
    if first is not None:
        columns |= {"size": sizes, "extra": index[~first].bincount(minlength=len(sizes))}
        if correct is not None:
            columns["rescued"] = (right > 0) & (index[correct & first].bincount(minlength=len(sizes)) == 0)
    return {name: column.double() for name, column in columns.items()}, {GROUPS: sizes > 1}
