"""The verifier's labels R_i: 1 for a correct response, 0 for a wrong one."""

import torch

from pacs.algorithm.checks import check_shape
from pacs.algorithm.groups import Groups


def checked_labels(labels: torch.Tensor, groups: Groups, dtype: torch.dtype) -> torch.Tensor:
    """(B,) labels of any dtype as `dtype`, 0 in rows that take no part (one host sync).

    Raises:
        ValueError: another shape, or a label other than 0 and 1 in a row that takes part.
    """
    check_shape("labels", labels, groups.index.shape)
    bad = groups.rows & (labels != 0) & (labels != 1)
    if bad.any():
        values = ", ".join(str(value) for value in torch.unique(labels[bad]).tolist()[:5])
        raise ValueError(
            f"labels must be 0 (wrong) or 1 (correct), but {int(bad.sum())} of {len(labels)} rows have "
            f"others ({values}): map the verifier's score to 0 or 1 first"
        )
    return torch.where(groups.rows, labels.to(dtype), 0)


def in_mixed_group(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """Which rows take part in a group that has both classes: (B,) bool, for (B,) checked labels."""
    correct = groups.sum(labels)
    return groups.rows & groups.of_rows((correct > 0) & (correct < groups.sizes))
