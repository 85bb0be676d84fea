"""Class-balance weights: in each group (or batch) both classes weigh the same (Sec. 3.5)."""

import torch

from pacs.algorithm.checks import at_least_float32, check_choice
from pacs.algorithm.groups import Groups, make_groups, one_group
from pacs.algorithm.labels import checked_labels, in_mixed_group

WEIGHT_SCOPES = ("group", "batch", "none")


def class_balance_weights(
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    *,
    scope: str = "group",
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """w_i of Eq. 8, by `scope`:

        group   G / (2 * #{j in the group : R_j = R_i}) in a group with both classes, else 1
        batch   the same over all rows given as if they were one group
        none    1

    (The paper asks for class balance without a formula; this one is the public code's.) Scope `batch` means
    the whole train batch: call this before the batch is split, and hand the weights to `pacs_loss`.

    Args:
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64, any values in any order.
        scope: one of the three above.
        row_mask: (B,) bool or number; rows that are 0 are not counted, and their weight is 0. With
            `single_class_groups=drop` give `counted_rows(...)` here, which is what `pacs_loss` does.

    Returns:
        (B,) float32, or float64 if `labels` is.

    Raises:
        ValueError: an unknown scope, shapes that differ, labels other than 0 and 1.
    """
    check_choice("scope", scope, WEIGHT_SCOPES)
    groups = make_groups(group_ids, row_mask)
    return balance_classes(checked_labels(labels, groups, at_least_float32(labels)), groups, scope)


def balance_classes(labels: torch.Tensor, groups: Groups, scope: str) -> torch.Tensor:
    """`class_balance_weights` of (B,) checked labels, in their dtype, for groups that are made already."""
    ones = groups.rows.to(labels.dtype)
    if scope == "none":
        return ones
    if scope == "batch":
        groups = one_group(groups.rows)
    size, correct = groups.of_rows(groups.sizes), groups.of_rows(groups.sum(labels))
    same_label = torch.where(labels == 1, correct, size - correct)
    return torch.where(in_mixed_group(labels, groups), size / (2 * same_label.clamp(min=1)), ones)
