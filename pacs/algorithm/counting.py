"""Which rows count in N, the denominator of Eq. 8."""

import torch

from pacs.algorithm.checks import at_least_float32
from pacs.algorithm.config import PacsConfig
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.labels import checked_labels, in_mixed_group


def counted_rows(
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    config: PacsConfig,
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The rows that count in N: those of `row_mask`, less single-class groups if the config drops them.

    The sum of this over a mini-batch is the `denominator` for each of the micro-batches it is split into.

    Args:
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; whole groups.
        config: read for `single_class_groups`.
        row_mask: (B,) bool or number; rows that are 0 do not count.

    Returns:
        (B,) bool.

    Raises:
        ValueError: shapes that differ, labels other than 0 and 1.
    """
    groups = make_groups(group_ids, row_mask)
    return keep_counted(checked_labels(labels, groups, at_least_float32(labels)), groups, config).rows


def keep_counted(labels: torch.Tensor, groups: Groups, config: PacsConfig) -> Groups:
    """The groups with only the rows that count, for (B,) checked labels."""
    return groups.keep(in_mixed_group(labels, groups)) if config.single_class_groups == "drop" else groups
