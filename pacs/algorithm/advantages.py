"""Effective advantages: the gradient of the PACS loss as one scalar a sequence."""

import torch

from pacs.algorithm.checks import at_least_float32, check_choice, check_shape
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.labels import checked_labels
from pacs.algorithm.scores import ESTIMATORS, GRPO_EPSILON, group_std, rloo_factor, score_groups


@torch.no_grad()
def effective_advantages(
    rewards: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    group_ids: torch.Tensor,
    *,
    beta: float,
    estimator: str,
    lengths: torch.Tensor | None = None,
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """A_i = -N * dL/dlog pi_theta(o_it), the same at every token t of response i, for L of Eq. 8; N cancels.

    With e_i = w_i * (sigmoid(psi_i) - R_i), its group mean e-bar, c_i = r_i - r-bar, and s the unbiased
    standard deviation of r in the group, A_i = -beta * g_i, divided by |o_i| too with the length-normalised
    proxy, where g_i = N * dL/dr_i is

        rloo      e_i - (1/(G-1)) * sum_{j != i} e_j
        dr_grpo   e_i - e-bar
        none      e_i
        grpo      (e_i - e-bar)/(s+eps) - (sum_j e_j c_j) * c_i / ((s+eps)^2 * s * (G-1))
                  (that of dr_grpo in a group with s < 1e-3, as in `group_scores`)

    The token-wise surrogate -(1/N) * sum_it m_it * A_i * log pi_theta(o_it) has the gradient of Eq. 8 however
    its rows are split. Eq. 5's policy-gradient term is not part of A_i: it would add -w_i * l_i to each.

    Args:
        rewards: (B,) r_i of Eq. 7 at the current weights, beta (and the division by length) included.
        labels: (B,) of any dtype, 0 or 1.
        weights: (B,) w_i. Dropped single-class groups are expressed here: all their rows have weight 0, as
            `class_balance_weights(..., row_mask=counted_rows(...))` gives them. A group without a weight has advantages
            of 0, whatever it holds.
        group_ids: (B,) int64, any values in any order; groups must be whole.
        beta: the beta that is in `rewards`.
        estimator: rloo, grpo, dr_grpo or none.
        lengths: (B,) |o_i| in tokens if `rewards` are the length-normalised proxy; else None.
        row_mask: (B,) bool or number; rows that are 0 count in no group, and their advantage is 0.

    Returns:
        (B,) float32, or float64 if `rewards` is; a constant, without gradient.

    Raises:
        ValueError: an unknown estimator, shapes that differ, labels other than 0 and 1, a group too small for
            the estimator.
    """
    check_choice("estimator", estimator, ESTIMATORS)
    for name, tensor in {"rewards": rewards, "weights": weights}.items():
        check_shape(name, tensor, group_ids.shape)
    groups = make_groups(group_ids, row_mask)
    rewards = rewards.to(at_least_float32(rewards))
    targets = checked_labels(labels, groups, rewards.dtype)
    row_weights = torch.where(groups.rows, weights.to(rewards.dtype), 0)

    if lengths is not None:
        check_shape("lengths", lengths, group_ids.shape)
    return advantages_of_rows(rewards, targets, row_weights, groups, beta=beta, estimator=estimator, lengths=lengths)


def advantages_of_rows(
    rewards: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    groups: Groups,
    *,
    beta: float,
    estimator: str,
    lengths: torch.Tensor | None,
) -> torch.Tensor:
    """`effective_advantages` of checked (B,) labels, of weights that are 0 in rows that do not count."""
    scores = torch.where(weights != 0, score_groups(rewards, groups, estimator), 0)
    errors = weights * (torch.sigmoid(scores) - labels)
    # A group without a weight has none whatever it holds: 0 * NaN would be NaN.
    gradients = torch.where(groups.with_any(weights != 0), _reward_gradients(rewards, errors, groups, estimator), 0)
    advantages = -beta * gradients
    return advantages if lengths is None else advantages / torch.where(groups.rows, lengths, 1).clamp(min=1)


def _reward_gradients(rewards: torch.Tensor, errors: torch.Tensor, groups: Groups, estimator: str) -> torch.Tensor:
    """g_i = N * dL/dr_i: (B,)."""
    if estimator == "none":
        return errors
    centered_errors = groups.center(errors)
    if estimator == "rloo":
        return centered_errors * rloo_factor(groups, errors.dtype)
    if estimator == "dr_grpo":
        return centered_errors
    centered = groups.center(rewards)
    std, fallback = group_std(centered, groups)
    divisor = std + GRPO_EPSILON
    through_std = groups.sum(errors * centered) / (divisor.square() * std * (groups.sizes - 1).clamp(min=1))
    gradients = centered_errors / groups.of_rows(divisor) - groups.of_rows(through_std) * centered
    return torch.where(groups.of_rows(fallback), centered_errors, gradients)
