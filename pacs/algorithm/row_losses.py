"""From what is known of each response to its loss and its effective advantage, whatever the method."""

from dataclasses import replace

import torch

from pacs.algorithm.checks import check_shape
from pacs.algorithm.groups import Groups
from pacs.algorithm.method import Method
from pacs.algorithm.rows import Rows

#: What is known of a row of any method once its loss is; all (B,). A method adds its `COLUMNS`.
#:
#: active               1 if the row counts in N
#: correct              its label R
#: loss                 losses_i (for PACS w * l of Eq. 8)
#: log_ratio            sum_t m * (log pi_theta - log pi_ref), in nats
#: tokens               tokens of the response
#: effective_advantage  A_i = -N * dL/dlog pi_theta(o_i), the same at every token; with credit a token, the tokens' mean
#:                      where policy and reference agree
ROW_COLUMNS = ("active", "correct", "loss", "log_ratio", "tokens", "effective_advantage")
#: The two parts of the gradient of a `tokenwise` method: -dL/dlog pi_theta(o_i) by the sums that weigh all tokens
#: alike, and -dL/dS_i by S_i = `Rows.token_sums`.
SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE = "sequence_advantage", "token_advantage"


def row_columns(method: Method) -> tuple[str, ...]:
    """Names of what is known of a row once its loss is."""
    return (*ROW_COLUMNS, *method.COLUMNS, *((SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE) if method.tokenwise else ()))


@torch.enable_grad()
def row_losses(
    method: Method, rows: Rows, active: Groups, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """(B,) losses, times (B,) weights if they are given, with the gradient that the rows have; and the columns."""
    read = {"log_ratios": rows.log_ratios, "log_likelihoods": rows.log_likelihoods, "token_sums": rows.token_sums}
    given = {name: values for name, values in read.items() if values is not None}
    trained = rows.log_ratios.requires_grad
    leaves = given if trained else {name: values.detach().requires_grad_() for name, values in given.items()}
    # NaN in a group without a coefficient (a dropped one) must reach no gradient, and 0 * NaN is NaN: cut before the
    # method's operations, and selected after them.
    acting = rows.groups.with_any(rows.coefficients != 0)
    cut = {name: torch.where(acting, values, values.detach()) for name, values in leaves.items()}
    from_method = method.losses(replace(rows, **cut))  # type: ignore[arg-type]
    check_shape("losses", from_method, rows.labels.shape)
    losses = torch.where(rows.coefficients != 0, from_method, 0)
    if weights is not None:
        losses = losses * weights.to(losses.dtype)
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
    by_tokens = advantages.pop("token_sums", None)
    effective = by_sequence = torch.stack(list(advantages.values())).sum(dim=0)
    if by_tokens is not None:
        effective = by_sequence + (by_tokens if rows.credit is None else by_tokens * rows.credit)
    known = (active.rows, rows.labels, losses, rows.log_ratios, rows.lengths, effective)
    columns = dict(zip(ROW_COLUMNS, known, strict=True)) | {name: extra[name] for name in method.COLUMNS}
    if by_tokens is not None:
        columns |= {SEQUENCE_ADVANTAGE: by_sequence, TOKEN_ADVANTAGE: by_tokens}
    columns = {name: values.detach().to(losses.dtype) for name, values in columns.items()}
    return losses if trained else losses.detach(), columns
