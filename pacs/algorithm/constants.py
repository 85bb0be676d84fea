"""What a method makes of a whole train batch before it is split: who counts, coefficients, credit, token weights."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch

from pacs.algorithm.checks import at_least_float32, check_shape, checked_labels
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.log_ratio import credited_objectives
from pacs.algorithm.method import Method
from pacs.algorithm.row_losses import SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE, row_losses
from pacs.algorithm.rows import Constants, Rows, TrainBatch
from pacs.algorithm.token_weight import Memory


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
    memory: Memory | None = None,
) -> Constants:
    """Which rows of a whole train batch count in N, what each adds to it, their coefficients, credit and token weights.

    Args:
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; whole groups.
        method: with its settings.
        row_mask: (B,) bool or number; rows that are 0 do not count.
        response_mask: (B, T) bool or number, for credit and weights that are a token's; None where there are none.
        lengths: (B,) tokens of each response, for `Method.shares`; by default those of `response_mask`, or 0.
        streams: (B, T) each, those that `Method.reads` names; what they hold outside the mask is not read.
        equal_groups: weigh a row by 1/G, G its group's rows that count, so that no group pulls more for being larger:
            L is then the mean over groups of the mean over each group's rows. The weights are 1 in the mean over rows.
        memory: what `remembered` gave after the step before, for a token weight that has some; None: the first step.

    Returns:
        `Constants`: coefficients, credit and token weights in float32 or float64.

    Raises:
        ValueError: shapes that differ, labels that the method does not take, a stream that is missing or is not finite.
    """
    groups = make_groups(group_ids, row_mask)
    targets = checked_labels(labels, groups, at_least_float32(labels), method.label_kind)
    mask = None if response_mask is None else (response_mask != 0) & groups.rows[:, None]
    if lengths is None:
        lengths = torch.zeros_like(groups.index) if mask is None else mask.sum(dim=1)
    constants = constants_of(method, targets, groups, lengths, mask, streams or {}, memory)
    if not equal_groups:
        return constants
    active = method.active(targets, groups)
    sizes, active_groups = active.of_rows(active.sizes).double(), (active.sizes > 0).sum().clamp(min=1)
    weights = torch.where(active.rows, active.rows.sum() / active_groups / sizes.clamp(min=1), 0)
    penalties = None if constants.penalties is None else constants.penalties * weights[:, None]
    return replace(constants, shares=constants.shares * weights, weights=weights, penalties=penalties)


def constants_of(
    method: Method,
    targets: torch.Tensor,
    groups: Groups,
    lengths: torch.Tensor,
    mask: torch.Tensor | None,
    streams: Mapping[str, torch.Tensor],
    memory: Memory | None = None,
) -> Constants:
    """`batch_constants` of (B,) labels that are checked, and of groups that have the row mask."""
    active = method.active(targets, groups)
    read = {name: _stream(name, streams, mask, method) for name in method.reads}
    coefficients = method.coefficients(targets, active)
    credit = method.credit(TrainBatch(targets, active, mask, read))
    if credit is not None:
        if credit.dim() == 1:
            check_shape("credit", credit, active.index.shape)
            credit = torch.where(active.rows, credit, 0)
            credited = credit != 0
        else:
            if mask is None:
                raise ValueError(f"{type(method).__name__} gives credit to tokens: it needs response_mask")
            check_shape("credit", credit, mask.shape)
            credit = torch.where(mask & active.rows[:, None], credit, 0)
            credited = (credit != 0).any(dim=1)
        coefficients = torch.where(credited if method.LOSS_BY_CREDIT_ALONE else active.rows, coefficients, 0)
    constants = Constants(active.rows, method.shares(lengths, active), coefficients, credit)
    weight = method.token_weight.chosen
    if weight is None:
        return constants
    if mask is None:
        raise ValueError(f"method.token_weight.name={method.token_weight.name} weighs tokens: it needs response_mask")
    mask = mask & active.rows[:, None]
    advantages = partial(_advantages_at_reference, method, targets, groups, active, mask, constants, read)
    read |= {name: targets.new_tensor((memory or {}).get(name, torch.nan)) for name in weight.REMEMBERS}
    weights = weight.weights(mask, read, advantages).to(targets.dtype)
    penalties = weight.penalties(mask, read, advantages)
    if penalties is not None:
        penalties = torch.where(mask, penalties, 0).to(targets.dtype)
    return replace(constants, token_weights=torch.where(mask, weights, 1), penalties=penalties)


def _advantages_at_reference(
    method: Method,
    targets: torch.Tensor,
    groups: Groups,
    active: Groups,
    mask: torch.Tensor,
    constants: Constants,
    streams: Mapping[str, torch.Tensor],
) -> torch.Tensor:
    """(B, T) -N dL/dlog pi of each token under the mask where all log-ratios are 0: a function of labels and credit."""
    agreeing, labels = targets.new_zeros(mask.shape), targets.double()
    sums = likelihoods = None
    if method.tokenwise:
        sums = credited_objectives(agreeing, agreeing, mask, method, constants.credit).sum(dim=1).double()
    if method.needs_log_likelihoods:
        likelihoods = torch.where(mask, streams["old_log_probs"], 0).sum(dim=1).double()
    coefficients = torch.where(active.rows, constants.coefficients, 0).double()
    credit, lengths = credit_means(constants.credit, mask), mask.sum(dim=1)
    rows = Rows(torch.zeros_like(labels), likelihoods, sums, lengths, labels, coefficients, credit, groups)
    known = row_losses(method, rows, active)[1]
    # Some weights go by the sign: what is 0, as in a group of one class, is not to be what rounding leaves of it.
    known = {name: torch.where(a.abs() > 1e-12, a, 0).to(targets.dtype)[:, None] for name, a in known.items()}
    if not method.tokenwise:
        return torch.where(mask, known["effective_advantage"], 0)
    each = 1 if constants.credit is None else constants.credit.reshape(len(mask), -1)
    return torch.where(mask, known[SEQUENCE_ADVANTAGE] + known[TOKEN_ADVANTAGE] * each, 0)


def credit_means(credit: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor | None:
    """(B,) the mean over the tokens under the (B, T) mask of credit, (B,) or (B, T); None of None."""
    if credit is None or credit.dim() == 1:
        return credit
    return torch.where(mask, credit, 0).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def _stream(name: str, streams: Mapping[str, torch.Tensor], mask: torch.Tensor | None, method: Method) -> torch.Tensor:
    if name not in streams or mask is None:
        raise ValueError(f"{type(method).__name__} reads {name} of each token, which is not there")
    given = streams[name].detach()
    check_shape(name, given if given.dim() < 3 else given[..., 0], mask.shape)
    values = torch.where(mask if given.dim() < 3 else mask[..., None], given, 0)
    if (wrong := (~values.isfinite()).flatten(1).any(dim=1)).any():
        raise ValueError(f"{name} is not finite in {int(wrong.sum())} of {len(mask)} rows")
    return values
