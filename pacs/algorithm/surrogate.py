"""The gradient of a loss by one number a response: any split of a mini-batch is exact."""

import math
from collections.abc import Mapping

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.correction import scale_gradient
from pacs.algorithm.log_ratio import select
from pacs.algorithm.row_losses import SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE


def surrogate_loss(
    log_probs: torch.Tensor,
    response_mask: torch.Tensor,
    advantages: torch.Tensor,
    *,
    active: torch.Tensor,
    denominator: float | torch.Tensor | None = None,
) -> torch.Tensor:
    """-(1/N) * sum_it m_it * A_i * log pi_theta(o_it): at the weights that gave A_i, its gradient is `method_loss`'s.

    The second half of gradient caching. Rows need not be whole groups: any split of a mini-batch is exact.
    The value means nothing by itself.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient.
        response_mask: (B, T) bool or number; nonzero marks the response's tokens.
        advantages: (B,) `effective_advantage` of `score_responses`.
        active: (B,) bool or number, its `active`; a row that is 0 here, or has an advantage of 0, changes neither
            value nor gradient, even if its numbers are NaN. Any other row with a log-likelihood that is not finite
            makes the value NaN.
        denominator: N, by default the number of rows given that count; for a micro-batch, the number over the
            whole mini-batch, and 0 only where no row counts.

    Returns:
        0-dimensional, float32, or float64 if `log_probs` is. If no row counts, a 0 with a gradient of zeros.

    Raises:
        ValueError: shapes that differ, an impossible denominator.
    """
    check_shape("response_mask", response_mask, log_probs.shape)
    check_shape("advantages", advantages, log_probs.shape[:1])
    check_shape("active", active, log_probs.shape[:1])
    rows = active != 0
    acting = rows & (advantages.detach() != 0)
    log_likelihoods = select(log_probs, (response_mask != 0) & acting[:, None], at_least_float32(log_probs)).sum(dim=1)
    weights = torch.where(acting, advantages.detach().to(log_likelihoods.dtype), 0)
    return -(weights * log_likelihoods).sum() / denominator_of(denominator, rows)


def advantage_loss(
    log_probs: torch.Tensor,
    objectives: torch.Tensor | None,
    response_mask: torch.Tensor,
    columns: Mapping[str, torch.Tensor],
    *,
    denominator: float | torch.Tensor | None = None,
    token_weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """`surrogate_loss` of any method: at the weights that gave `columns`, its gradient is `method_loss`'s.

    Args:
        log_probs: (B, T), with gradient.
        objectives: (B, T) `credited_objectives` of the same tokens, with gradient; None of a method that is not
            `tokenwise`.
        response_mask: (B, T).
        columns: what `score_responses` says of the rows.
        denominator: as for `surrogate_loss`.
        token_weights: (B, T) those of `Constants`.
    """
    if token_weights is not None:
        log_probs = scale_gradient(log_probs, token_weights)
        objectives = None if objectives is None else scale_gradient(objectives, token_weights)
    active = columns["active"]
    if objectives is None:
        advantages = columns["effective_advantage"]
        return surrogate_loss(log_probs, response_mask, advantages, active=active, denominator=denominator)
    parts = ((log_probs, columns[SEQUENCE_ADVANTAGE]), (objectives, columns[TOKEN_ADVANTAGE]))
    losses = [
        surrogate_loss(values, response_mask, advantages, active=active, denominator=denominator)
        for values, advantages in parts
    ]
    return losses[0] + losses[1]


def denominator_of(given: float | torch.Tensor | None, active: torch.Tensor) -> float | torch.Tensor:
    """N as it was given, checked; by default the number of rows that count here."""
    if given is None:
        return active.sum().clamp(min=1)
    n = float(given)
    if not math.isfinite(n) or n < 0 or (n == 0 and bool(active.any())):
        raise ValueError(
            f"denominator={n:g}, but {int(active.sum())} rows count here: give the number of rows that "
            "count in the whole mini-batch"
        )
    return n or 1.0
