"""From what is known of each response to its loss and its effective advantage, whatever the method."""

from dataclasses import replace

import torch

from pacs.algorithm.checks import at_least_float32, check_shape, checked_labels
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.method import TOKEN_ADVANTAGE, Method, Rows

#: What is known of a row of any method once its loss is; all (B,). A method adds its `COLUMNS`.
#:
#: counted              1 if the row counts in N
#: correct              its label R
#: loss                 losses_i (for PACS w * l of Eq. 8)
#: log_ratio            sum_t m * (log pi_theta - log pi_ref), in nats
#: tokens               tokens of the response
#: effective_advantage  A_i = -N * dL/dlog pi_theta(o_i), the same at every token
ROW_COLUMNS = ("counted", "correct", "loss", "log_ratio", "tokens", "effective_advantage")


def row_columns(method: Method) -> tuple[str, ...]:
    """Names of what is known of a row once its loss is."""
    return (*ROW_COLUMNS, *method.COLUMNS, *([TOKEN_ADVANTAGE] if method.tokenwise else []))


def weigh_rows(
    labels: torch.Tensor, group_ids: torch.Tensor, method: Method, row_mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Which rows of a whole train batch count in N, and their weights, before it is split.

    Args:
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; whole groups.
        method: with its settings.
        row_mask: (B,) bool or number; rows that are 0 do not count.

    Returns:
        (B,) bool, whose sum over a mini-batch is the `denominator` of its micro-batches; and (B,) w_i, float32 or
        float64, 0 in rows that do not count.

    Raises:
        ValueError: shapes that differ, labels that the method does not take.
    """
    groups = make_groups(group_ids, row_mask)
    targets = checked_labels(labels, groups, at_least_float32(labels), soft=method.soft_labels)
    counted = method.counted(targets, groups)
    return counted.rows, method.weights(targets, counted)


def weighed_groups(
    method: Method, labels: torch.Tensor, groups: Groups, weights: torch.Tensor | None, dtype: torch.dtype
) -> tuple[torch.Tensor, Groups, torch.Tensor]:
    """The labels, checked; the groups with the rows that count; and their weights."""
    targets = checked_labels(labels, groups, dtype, soft=method.soft_labels)
    counted = method.counted(targets, groups)
    if weights is None:
        return targets, counted, method.weights(targets, counted)
    check_shape("weights", weights, groups.index.shape)
    return targets, counted, torch.where(counted.rows, weights.detach().to(dtype), 0)


@torch.enable_grad()
def solve(method: Method, rows: Rows, counted: Groups) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """(B,) losses, with the gradient that the rows have, and the columns."""
    read = {"log_ratios": rows.log_ratios, "log_likelihoods": rows.log_likelihoods, "token_sums": rows.token_sums}
    given = {name: values for name, values in read.items() if values is not None}
    trained = rows.log_ratios.requires_grad
    leaves = given if trained else {name: values.detach().requires_grad_() for name, values in given.items()}
    # NaN in a group without a weight (a dropped one) must reach no gradient, and 0 * NaN is NaN: cut before the
    # method's operations, and selected after them.
    acting = rows.groups.with_any(rows.weights != 0)
    seen = {name: torch.where(acting, values, values.detach()) for name, values in leaves.items()}
    own_losses = method.losses(replace(rows, **seen))  # type: ignore[arg-type]
    check_shape("losses", own_losses, rows.labels.shape)
    losses = torch.where(rows.weights != 0, own_losses, 0)
    gradients = torch.autograd.grad(
        losses.sum(), list(leaves.values()), retain_graph=trained, allow_unused=True, materialize_grads=True
    )
    # A clamp has a gradient of 0 at NaN, and an infinite loss may have a finite one: what has no loss has no advantage.
    advantages = {
        name: torch.where(losses.isfinite(), -gradient, torch.nan)
        for name, gradient in zip(leaves, gradients, strict=True)
    }
    with torch.no_grad():
        extra = method.columns(rows)
    whole = torch.stack(list(advantages.values())).sum(dim=0)
    known = (counted.rows, rows.labels, losses, rows.log_ratios, rows.lengths, whole)
    columns = dict(zip(ROW_COLUMNS, known, strict=True)) | {name: extra[name] for name in method.COLUMNS}
    if method.tokenwise:
        columns[TOKEN_ADVANTAGE] = advantages["token_sums"]
    columns = {name: values.detach().to(losses.dtype) for name, values in columns.items()}
    return losses if trained else losses.detach(), columns
