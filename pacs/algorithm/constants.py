"""What a method makes of a whole train batch before it is split: who counts, coefficients and credit."""

from collections.abc import Mapping
from dataclasses import replace

import torch

from pacs.algorithm.checks import at_least_float32, check_shape, checked_labels
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.method import Method
from pacs.algorithm.rows import Constants, TrainBatch


def batch_constants(
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    method: Method,
    row_mask: torch.Tensor | None = None,
    *,
    response_mask: torch.Tensor | None = None,
    lengths: torch.Tensor | None = None,
    streams: Mapping[str, torch.Tensor] | None = None,
    equal_groups: bool = False,
) -> Constants:
    """Which rows of a whole train batch count in N, what each adds to it, and their coefficients and credit.

    Args:
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; whole groups.
        method: with its settings.
        row_mask: (B,) bool or number; rows that are 0 do not count.
        response_mask: (B, T) bool or number, for credit that is a token's; None where the method gives none.
        lengths: (B,) tokens of each response, for `Method.shares`; by default those of `response_mask`, or 0.
        streams: (B, T) each, those that `Method.READS` names; what they hold outside the mask is not read.
        equal_groups: weigh a row by 1/G, G its group's rows that count, so that no group pulls more for being larger:
            L is then the mean over groups of the mean over each group's rows. The weights are 1 in the mean over rows.

    Returns:
        `Constants`: coefficients and credit in float32 or float64.

    Raises:
        ValueError: shapes that differ, labels that the method does not take, a stream that is missing or is not finite.
    """
    groups = make_groups(group_ids, row_mask)
    targets = checked_labels(labels, groups, at_least_float32(labels), soft=method.soft_labels)
    mask = None if response_mask is None else (response_mask != 0) & groups.rows[:, None]
    if lengths is None:
        lengths = torch.zeros_like(groups.index) if mask is None else mask.sum(dim=1)
    counted = method.counted(targets, groups)
    constants = constants_of(method, targets, counted, lengths, mask, streams or {})
    if not equal_groups:
        return constants
    sizes, taking_part = counted.of_rows(counted.sizes).double(), (counted.sizes > 0).sum().clamp(min=1)
    weights = torch.where(counted.rows, counted.rows.sum() / taking_part / sizes.clamp(min=1), 0)
    return replace(constants, shares=constants.shares * weights, weights=weights)


def constants_of(
    method: Method,
    targets: torch.Tensor,
    counted: Groups,
    lengths: torch.Tensor,
    mask: torch.Tensor | None,
    streams: Mapping[str, torch.Tensor],
) -> Constants:
    """`batch_constants` of (B,) labels that are checked, and of the groups of the rows that count."""
    read = {name: _stream(name, streams, mask, method) for name in method.READS}
    coefficients = method.coefficients(targets, counted)
    credit = method.credit(TrainBatch(targets, counted, mask, read))
    if credit is not None:
        if credit.dim() == 1:
            check_shape("credit", credit, counted.index.shape)
            credit = torch.where(counted.rows, credit, 0)
            credited = credit != 0
        else:
            if mask is None:
                raise ValueError(f"{type(method).__name__} gives credit to tokens: it needs response_mask")
            check_shape("credit", credit, mask.shape)
            credit = torch.where(mask & counted.rows[:, None], credit, 0)
            credited = (credit != 0).any(dim=1)
        coefficients = torch.where(credited, coefficients, 0)
    return Constants(counted.rows, method.shares(lengths, counted), coefficients, credit)


def credit_means(credit: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor | None:
    """(B,) the mean over the tokens under the (B, T) mask of credit, (B,) or (B, T); None of None."""
    if credit is None or credit.dim() == 1:
        return credit
    return torch.where(mask, credit, 0).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _stream(name: str, streams: Mapping[str, torch.Tensor], mask: torch.Tensor | None, method: Method) -> torch.Tensor:
    if name not in streams or mask is None:
        raise ValueError(f"{type(method).__name__} reads {name} of each token, which is not there")
    check_shape(name, streams[name], mask.shape)
    values = torch.where(mask, streams[name].detach(), 0)
    if not values.isfinite().all():
        raise ValueError(f"{name} is not finite in {int((~values.isfinite()).any(dim=1).sum())} of {len(mask)} rows")
    return values
