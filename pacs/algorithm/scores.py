"""Scores psi: each response's reward proxy compared with the rest of its group (Eq. 6), and its variants."""

import torch

from pacs.algorithm.checks import at_least_float32, check_choice, check_shape
from pacs.algorithm.groups import Groups, make_groups

ESTIMATORS = ("rloo", "grpo", "dr_grpo", "none")
#: The fewest rows of a group that an estimator can compare; fewer are refused.
SMALLEST_GROUP = {"rloo": 2, "grpo": 3, "dr_grpo": 2, "none": 1}
GRPO_EPSILON = 1e-6
# Below this the division by the standard deviation (0 where policy and reference agree) has no use.
GRPO_SMALLEST_STD = 1e-3


def group_scores(
    rewards: torch.Tensor,
    group_ids: torch.Tensor,
    *,
    estimator: str = "rloo",
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """psi_i for reward proxies r_i; for a group of G rows with mean r-bar and unbiased standard deviation s:

        rloo      r_i - (1/(G-1)) * sum_{j != i} r_j       Eq. 6
        grpo      (r_i - r-bar) / (s + 1e-6)               a group with s < 1e-3 uses dr_grpo
        dr_grpo   r_i - r-bar
        none      r_i

    The gradient flows through every r_j of the group, through r-bar and s as well.

    Args:
        rewards: (B,) finite reward proxies.
        group_ids: (B,) int64, any values in any order.
        estimator: one of the four above.
        row_mask: (B,) bool or number; rows that are 0 count in no group, and their score is 0. A group that
            has no row left contributes nothing.

    Returns:
        (B,) float32, or float64 if `rewards` is.

    Raises:
        ValueError: an unknown estimator, shapes that differ, a group of one row (except with `none`), a group
            of two with `grpo`.
    """
    check_choice("estimator", estimator, ESTIMATORS)
    check_shape("rewards", rewards, group_ids.shape)
    return score_groups(rewards.to(at_least_float32(rewards)), make_groups(group_ids, row_mask), estimator)


def score_groups(rewards: torch.Tensor, groups: Groups, estimator: str) -> torch.Tensor:
    """`group_scores` of (B,) `rewards` for groups that are made already."""
    check_group_sizes(groups, estimator)
    if estimator == "none":
        return torch.where(groups.rows, rewards, 0)
    centered = groups.center(rewards)
    if estimator == "rloo":
        return centered * rloo_factor(groups, rewards.dtype)
    if estimator == "grpo":
        std, fallback = group_std(centered, groups)
        return centered / groups.of_rows(torch.where(fallback, 1, std + GRPO_EPSILON))
    return centered


def rloo_factor(groups: Groups, dtype: torch.dtype) -> torch.Tensor:
    """G/(G-1) for each row: (B,), since r_i minus the mean of the others is (r_i - r-bar) * G/(G-1)."""
    sizes = groups.of_rows(groups.sizes).to(dtype)
    return sizes / (sizes - 1).clamp(min=1)


def group_std(centered: torch.Tensor, groups: Groups) -> tuple[torch.Tensor, torch.Tensor]:
    """Unbiased standard deviation of (B,) centered rewards, and which groups fall back to dr_grpo: both (K,).

    The standard deviation of a group that falls back is given as 1.
    """
    variance = groups.sum(centered.square()) / (groups.sizes - 1).clamp(min=1)
    fallback = variance.detach().sqrt() < GRPO_SMALLEST_STD
    # Replaced before the root is taken: its derivative at 0 is infinite, and 0 * inf is NaN in the gradient.
    return torch.where(fallback, 1, variance).sqrt(), fallback


def check_group_sizes(groups: Groups, estimator: str) -> None:
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
