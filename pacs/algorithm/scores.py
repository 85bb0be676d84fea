"""Scores psi: each response's reward proxy compared with the rest of its group (Eq. 6), and its variants."""

from typing import Literal

import torch

from pacs.algorithm.groups import Groups

Estimator = Literal["rloo", "grpo", "dr_grpo", "none"]
#: The fewest rows of a group that an estimator can compare; fewer are refused.
SMALLEST_GROUP: dict[Estimator, int] = {"rloo": 2, "grpo": 3, "dr_grpo": 2, "none": 1}
GRPO_EPSILON = 1e-6
# Below this the division by the standard deviation (0 where policy and reference agree) has no use.
GRPO_SMALLEST_STD = 1e-3


def group_scores(rewards: torch.Tensor, groups: Groups, estimator: Estimator) -> torch.Tensor:
    """psi_i for reward proxies r_i; for a group of G rows with mean r-bar and unbiased standard deviation s:

        rloo      r_i - (1/(G-1)) * sum_{j != i} r_j       Eq. 6
        grpo      (r_i - r-bar) / (s + 1e-6)               a group with s < 1e-3 uses dr_grpo
        dr_grpo   r_i - r-bar
        none      r_i

    The gradient flows through every r_j of the group, through r-bar and s as well.

    Args:
        rewards: (B,) reward proxies, float32 or float64.
        groups: of B rows; one that has no row left contributes nothing.
        estimator: one of the four above.

    Returns:
        (B,), 0 in rows that take no part.

    Raises:
        ValueError: a group too small for the estimator.
    """
    _check_group_sizes(groups, estimator)
    if estimator == "none":
        return torch.where(groups.rows, rewards, 0)
    centered = groups.center(rewards)
    if estimator == "rloo":
        # r_i minus the mean of the others is (r_i - r-bar) * G/(G-1).
        sizes = groups.of_rows(groups.sizes).to(rewards.dtype)
        return centered * (sizes / (sizes - 1).clamp(min=1))
    if estimator == "grpo":
        std, fallback = _group_std(centered, groups)
        return centered / groups.of_rows(torch.where(fallback, 1, std + GRPO_EPSILON))
    return centered


def falls_back(rewards: torch.Tensor, groups: Groups) -> torch.Tensor:
    """The rows, (B,) bool, whose group's scores by `grpo` are those of dr_grpo."""
    return groups.of_rows(_group_std(groups.center(rewards), groups)[1]) & groups.rows


def _group_std(centered: torch.Tensor, groups: Groups) -> tuple[torch.Tensor, torch.Tensor]:
    """Unbiased standard deviation of (B,) centered rewards, and which groups fall back to dr_grpo: both (K,).

    The standard deviation of a group that falls back is given as 1.
    """
    variance = groups.sum(centered.square()) / (groups.sizes - 1).clamp(min=1)
    fallback = variance.detach().sqrt() < GRPO_SMALLEST_STD
    # Replaced before the root is taken: its derivative at 0 is infinite, and 0 * inf is NaN in the gradient.
    return torch.where(fallback, 1, variance).sqrt(), fallback


def _check_group_sizes(groups: Groups, estimator: Estimator) -> None:
    """Refuse groups in which `estimator` has nothing to compare (one host sync)."""
    if SMALLEST_GROUP[estimator] == 1:
        return
    too_small = (groups.sizes > 0) & (groups.sizes < SMALLEST_GROUP[estimator])
    if not too_small.any():
        return
    group_id, size = groups.ids[too_small][0].item(), groups.sizes[too_small][0].item()
    found = f"group {group_id} has {size} row{'s' if size > 1 else ''} (without those outside row_mask)"
    if size == 1:
        raise ValueError(
            f"{found}, but estimator={estimator} compares the responses to one prompt: sample at least 2 "
            "(rollout.n), keep a group's rows in one batch, or use estimator=none"
        )
    raise ValueError(
        f"{found}, but in a group of two estimator=grpo scores ±1/√2 whatever the rewards are, so that its "
        "gradient is zero: use estimator=rloo or dr_grpo, or sample at least 3 (rollout.n)"
    )
