"""Class-balance weights: in each group (or batch) both classes weigh the same (Sec. 3.5)."""

from typing import Literal

import torch

from pacs.algorithm.groups import Groups, one_group

Scope = Literal["group", "batch", "none"]


def class_balance_weights(labels: torch.Tensor, counted: Groups, scope: Scope) -> torch.Tensor:
    """w_i of Eq. 8, by `scope`:

        group   G / (2 * #{j in the group : R_j = R_i}) in a group with both classes, else 1
        batch   the same over all rows given as if they were one group
        none    1

    (The paper asks for class balance without a formula; this one is the public code's.) Scope `batch` means
    the whole train batch: call this before the batch is split.

    Args:
        labels: (B,) floating, 0 or 1.
        counted: groups of the rows that count.
        scope: one of the three above.

    Returns:
        (B,) in the dtype of the labels, 0 in rows that do not count.
    """
    if scope == "none":
        return counted.rows.to(labels.dtype)
    groups = one_group(counted.rows) if scope == "batch" else counted
    correct = groups.sum(labels)
    mixed = (correct > 0) & (correct < groups.sizes)
    # Of a group's right and of its wrong rows; dealt out to the rows last, of which there are many more.
    right, wrong = (
        torch.where(mixed, groups.sizes / (2 * count.clamp(min=1)), 1) for count in (correct, groups.sizes - correct)
    )
    weights = torch.where(labels == 1, groups.of_rows(right), groups.of_rows(wrong))
    return torch.where(counted.rows, weights, 0)


def in_mixed_group(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """Which rows take part in a group that has both classes: (B,) bool, for (B,) labels of 0 and 1."""
    correct = groups.sum(labels)
    return groups.rows & groups.of_rows((correct > 0) & (correct < groups.sizes))
