"""The PACS loss: class-balanced binary cross-entropy of the scores against the verifier's labels (Eq. 8)."""

import math

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from pacs.algorithm.checks import check_shape
from pacs.algorithm.class_balance import balance_classes
from pacs.algorithm.config import PacsConfig
from pacs.algorithm.counting import keep_counted
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.labels import checked_labels
from pacs.algorithm.log_ratio import proxy_rewards, select, sequence_log_ratios
from pacs.algorithm.loss_metrics import loss_metrics
from pacs.algorithm.scores import score_groups


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
            over the rows given. Needed with scope `batch` if these rows are not the whole train batch.

    Returns:
        The loss, 0-dimensional, float32 or float64 if a log-probability is; and its metrics (`loss_metrics`).
        If no row counts, the loss is a 0 that still carries a gradient, of zeros.

    Raises:
        ValueError: shapes that differ, log-probabilities under the mask that are not finite, labels other
            than 0 and 1, a group too small for the estimator, an impossible denominator.
    """
    groups = make_groups(group_ids, row_mask)
    if log_probs.shape[:1] != group_ids.shape:
        raise ValueError(f"log_probs has {len(log_probs)} rows, but group_ids has {len(group_ids)}")
    check_shape("response_mask", response_mask, log_probs.shape)
    mask = (response_mask != 0) & groups.rows[:, None]

    log_ratios = sequence_log_ratios(log_probs, ref_log_probs, mask)
    rewards = proxy_rewards(log_ratios, mask, beta=config.beta, normalize_by_length=config.normalize_by_length)
    scores = score_groups(rewards, groups, config.estimator)

    targets = checked_labels(labels, groups, rewards.dtype)
    counted = keep_counted(targets, groups, config)
    if weights is None:
        row_weights = balance_classes(targets, counted, config.weight_scope)
    else:
        check_shape("weights", weights, group_ids.shape)
        row_weights = torch.where(counted.rows, weights.detach().to(rewards.dtype), 0)
    n = _denominator(denominator, counted)

    row_losses = row_weights * binary_cross_entropy_with_logits(scores, targets, reduction="none")
    loss = row_losses.sum() / n
    metrics = loss_metrics(
        row_losses=row_losses,
        log_ratios=log_ratios,
        rewards=rewards,
        scores=scores,
        labels=targets,
        counted=counted,
        estimator=config.estimator,
        denominator=n,
    )
    if config.policy_gradient_term:
        log_likelihoods = select(log_probs, mask, rewards.dtype).sum(dim=1)
        loss = loss + (row_losses.detach() * log_likelihoods).sum() / n
    return loss, metrics


def _denominator(given: float | torch.Tensor | None, counted: Groups) -> float | torch.Tensor:
    if given is None:
        return counted.rows.sum().clamp(min=1)
    n = float(given)
    if not math.isfinite(n) or n < 0 or (n == 0 and bool(counted.rows.any())):
        raise ValueError(
            f"denominator={n:g}, but {int(counted.rows.sum())} rows count here: give the number of rows that "
            "count in the whole mini-batch (the sum of counted_rows)"
        )
    return n or 1.0
