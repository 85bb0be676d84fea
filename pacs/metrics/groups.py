"""What is counted of groups: how many responses differ, and which of the two classes they have."""

import torch

from pacs.metrics import ours


def group_table(
    group: torch.Tensor,
    distinct: torch.Tensor,
    correct: torch.Tensor | None,
    first: torch.Tensor | None,
    guided: torch.Tensor | None = None,
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """One row a group, and which of them are compared.

    Args:
        group: (B,) int64.
        distinct: (B,) bool, the response is the first of its kind.
        correct: (B,) bool; None where scores are graded: there are no classes then.
        first: (B,) bool, of the first stage's responses; None without a second one.
        guided: (B,) bool, a right retry with guidance is trained in its place; None where none may be.

    Returns:
        Columns of one number a group; and `GROUPS` among the selections, since a single response is no group.
    """
    index = group.unique(return_inverse=True)[1]
    sizes = index.bincount()
    kinds = {"distinct": index[distinct].bincount(minlength=len(sizes))}
    if correct is not None:
        right = index[correct].bincount(minlength=len(sizes))
        kinds |= {"mixed": (right > 0) & (right < sizes), "all_correct": right == sizes, "all_wrong": right == 0}
        if first is not None:
            begun, solved = (index[rows].bincount(minlength=len(sizes)) for rows in (first, correct & first))
            kinds["rescued"] = (right > 0) & (begun > 0) & (solved == 0)
        if guided is not None:
            kinds["guided"] = (right == 0) & (index[guided].bincount(minlength=len(sizes)) > 0)
    return {name: column.double() for name, column in kinds.items()}, {ours.GROUPS: sizes > 1}
