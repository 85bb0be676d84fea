"""The PACS loss: class-balanced binary cross-entropy of the scores against the verifier's labels (Eq. 8)."""

import math

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.config import PacsConfig
from pacs.algorithm.groups import make_groups
from pacs.algorithm.log_ratio import select, sequence_log_ratios
from pacs.algorithm.rows import score_rows


def pacs_loss(
    log_probs: torch.Tensor,
    ref_log_probs: torch.Tensor,
    response_mask: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    config: PacsConfig,
    *,
    row_mask: torch.Tensor | None = None,
    denominator: float | torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
    allow_not_finite: bool = False,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """L = (1/N) * sum_i w_i * BCE(sigmoid(psi_i), R_i), Eq. 8, with psi from Eq. 6 and 7.

    `config.policy_gradient_term` adds Eq. 5's first term as a surrogate with the same gradient,
    (1/N) * sum_i stopgrad(w_i * l_i) * sum_t m_it * log pi_theta(o_it): the score-function estimator, in
    which the log-likelihood of a sequence is a sum whatever the proxy is.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient; see `log_ratio_rewards`.
        ref_log_probs: (B, T), a constant.
        response_mask: (B, T) bool or number; nonzero marks the response's tokens.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, since a score needs its whole group.
        config: the settings under `pacs.`.
        row_mask: (B,) bool or number; rows that are 0 (padding) have no influence, whatever they hold.
        denominator: N, by default the number of rows given that count (`counted_rows`). For a micro-batch,
            the number over the whole mini-batch: the losses of any split into whole groups then sum to that
            of the mini-batch. 0 only where no row counts. A tensor has one element (and costs a host sync).
        weights: (B,) w_i to use as they are in rows that count; by default those of `class_balance_weights`
            over the rows given. Needed with scope `batch` if these rows are not the whole train batch. A row of
            weight 0 has no loss, but its group is compared with it.
        allow_not_finite: give a loss and a gradient of NaN where a log-probability under the mask is not finite,
            instead of an error: for a caller that skips such an update. The other groups' rows stay as they are. In a
            group without a weight (a dropped one) it has no influence, as in `surrogate_loss`.

    Returns:
        The loss, 0-dimensional, float32 or float64 if a log-probability is; and what is known of each row
        (`ROW_COLUMNS`). If no row counts, the loss is a 0 that still carries a gradient, of zeros.

    Raises:
        ValueError: shapes that differ, log-probabilities under the mask that are not finite (unless allowed),
            labels other than 0 and 1, a group too small for the estimator, an impossible denominator.
    """
    groups = make_groups(group_ids, row_mask)
    if log_probs.shape[:1] != group_ids.shape:
        raise ValueError(f"log_probs has {len(log_probs)} rows, but group_ids has {len(group_ids)}")
    check_shape("response_mask", response_mask, log_probs.shape)
    mask = (response_mask != 0) & groups.rows[:, None]

    log_ratios = sequence_log_ratios(log_probs, ref_log_probs, mask, allow_not_finite=allow_not_finite)
    scored = score_rows(log_ratios, mask.sum(dim=1), labels, groups, config, weights)
    n = _denominator(denominator, scored.counted.rows)
    loss = scored.losses.sum() / n
    if config.policy_gradient_term:
        weighed = mask & (scored.weights != 0)[:, None]
        log_likelihoods = select(log_probs, weighed, scored.losses.dtype).sum(dim=1)
        loss = loss + (scored.losses.detach() * log_likelihoods).sum() / n
    return loss, scored.columns(config)


def surrogate_loss(
    log_probs: torch.Tensor,
    response_mask: torch.Tensor,
    advantages: torch.Tensor,
    *,
    counted: torch.Tensor,
    denominator: float | torch.Tensor | None = None,
) -> torch.Tensor:
    """-(1/N) * sum_it m_it * A_i * log pi_theta(o_it): at the weights that gave A_i, its gradient is Eq. 8's.

    The second half of gradient caching. Rows need not be whole groups: any split of a mini-batch is exact.
    The value means nothing by itself.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient.
        response_mask: (B, T) bool or number; nonzero marks the response's tokens.
        advantages: (B,) `effective_advantage` of `score_responses`.
        counted: (B,) bool or number, its `counted`; rows that are 0 have no influence, whatever they hold. A row that
            counts makes the value NaN if its log-likelihood is not finite, even with an advantage of 0.
        denominator: N, by default the number of rows given that count; for a micro-batch, the number over the
            whole mini-batch, and 0 only where no row counts.

    Returns:
        0-dimensional, float32, or float64 if `log_probs` is. If no row counts, a 0 with a gradient of zeros.

    Raises:
        ValueError: shapes that differ, an impossible denominator.
    """
    check_shape("response_mask", response_mask, log_probs.shape)
    check_shape("advantages", advantages, log_probs.shape[:1])
    check_shape("counted", counted, log_probs.shape[:1])
    rows = counted != 0
    log_likelihoods = select(log_probs, (response_mask != 0) & rows[:, None], at_least_float32(log_probs)).sum(dim=1)
    acting = torch.where(rows, advantages.detach().to(log_likelihoods.dtype), 0)
    return -(acting * log_likelihoods).sum() / _denominator(denominator, rows)


def _denominator(given: float | torch.Tensor | None, counted: torch.Tensor) -> float | torch.Tensor:
    if given is None:
        return counted.sum().clamp(min=1)
    n = float(given)
    if not math.isfinite(n) or n < 0 or (n == 0 and bool(counted.any())):
        raise ValueError(
            f"denominator={n:g}, but {int(counted.sum())} rows count here: give the number of rows that "
            "count in the whole mini-batch (the sum of counted_rows)"
        )
    return n or 1.0
