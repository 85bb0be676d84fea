"""What a response is credited with, from the labels of its group: advantages A_i, a function each.

Each takes (B,) labels R, in [0, 1], and the groups of the rows that count, and gives (B,) in their dtype, 0 in other
rows; `centered`, `leave_one_out` and `normalized` take any numbers. q is the mean label of a group, G its size, s the
unbiased standard deviation of its labels.
"""

import torch

from pacs.algorithm.groups import Groups

GRPO_EPSILON = 1e-6


def label(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """R: RAFT++ (arXiv 2504.11343)."""
    return torch.where(groups.rows, labels, 0)


def signed_label(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """2R - 1: Reinforce-Rej (arXiv 2504.11343)."""
    return torch.where(groups.rows, 2 * labels - 1, 0)


def centered(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """R - q: Dr. GRPO (arXiv 2503.20783)."""
    return groups.center(labels)


def leave_one_out(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """R less the mean label of the rest of the group, (R - q) G/(G-1): RLOO (arXiv 2402.14740)."""
    sizes = groups.of_rows(groups.sizes).to(labels.dtype)
    return groups.center(labels) * (sizes / (sizes - 1).clamp(min=1))


def normalized(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """(R - q) / (s + 1e-6): GRPO (arXiv 2402.03300), and DAPO (arXiv 2503.14476)."""
    # In float64 the sum of equal float32 labels is exact. In float32 the mean of eight labels of 0.9 is off by 6e-8,
    # which over 1e-6 would be an advantage of all eight.
    difference = groups.center(labels.double())
    variance = groups.sum(difference.square()) / (groups.sizes - 1).clamp(min=1)
    return (difference / (groups.of_rows(variance.sqrt()) + GRPO_EPSILON)).to(labels.dtype)


def by_pass_rate(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """(R - q)/q, 0 in a group without a right response: MaxRL (arXiv 2602.02710)."""
    pass_rates = groups.of_rows(groups.sum(labels) / groups.sizes.clamp(min=1))
    return torch.where(pass_rates > 0, groups.center(labels) / pass_rates.where(pass_rates > 0, 1), 0)


def only_right_one(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """1 of a response that alone of its group is right, else 0: pass@k training, as verl's estimator grpo_passk."""
    alone = groups.rows & (labels == 1) & groups.of_rows(groups.sum(labels) == 1)
    return alone.to(labels.dtype)
