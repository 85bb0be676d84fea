"""What a step says of itself: a point of the curve, and what the implicit critic knows of right and wrong."""

from dataclasses import dataclass
from typing import Any

import torch

from recipes.laboratory.rollouts import Batch

BINS = 10


@dataclass(frozen=True)
class Updated:
    """A step's updates.

    `losses` and `gradient_norms` are one an update; `columns` are (B,) each, `log_ratio` and `correct`, and of PACS
    `score`, at the weights before the row's own update; `reset` says whether the reference was reset after them.
    `explained_variance` is a critic's, before its updates; None without one, and where all returns are the same.
    """

    losses: list[float]
    gradient_norms: list[float]
    columns: dict[str, torch.Tensor]
    reset: bool
    explained_variance: float | None = None


def point(batch: Batch, updated: Updated) -> dict[str, Any]:
    """Numbers of a step, without those of the whole run.

    Returns:
        `reward`, as of the batch; `loss` and `gradient_norm`, means of the updates; `entropy` of the sampling policy,
        nats a token, `response_tokens_mean` and `mixed_groups_fraction`, of the responses trained on;
        `log_ratio_mean`, in nats a response; `reset`; of a critic `explained_variance`; and of PACS `critic` of its
        scores, without those of a second stage of rollouts.
    """
    size = int(batch.first.sum()) // len(batch.groups[batch.first].unique())
    right, sizes = torch.bincount(batch.groups, batch.labels), torch.bincount(batch.groups)
    tokens = int(batch.samples.response_mask.sum())
    return {
        "reward": batch.reward,
        "loss": sum(updated.losses) / len(updated.losses),
        "gradient_norm": sum(updated.gradient_norms) / len(updated.gradient_norms),
        "entropy": float(batch.samples.entropies.double().sum()) / tokens,
        "response_tokens_mean": tokens / len(batch.labels),
        "mixed_groups_fraction": float(((right > 0) & (right < sizes)).float().mean()),
        "log_ratio_mean": float(updated.columns["log_ratio"].mean()),
        "reset": updated.reset,
        **({} if updated.explained_variance is None else {"explained_variance": updated.explained_variance}),
    } | (
        critic(updated.columns["score"][batch.first], batch.labels[batch.first], size)
        if "score" in updated.columns
        else {}
    )


def critic(scores: torch.Tensor, labels: torch.Tensor, size: int) -> dict[str, float | None]:
    """What scores know of the labels in groups that have both, and a score other than 0; None without such a group.

    All scores are 0 in the first mini-batch after a reset, by construction.

    Args:
        scores: (B,) psi.
        labels: (B,) 0 or 1.
        size: of each group, whose rows are consecutive.

    Returns:
        `residual_mean`, of |sigma(psi) - R|; `critic_accuracy`, the share of pairs of a right and a wrong response of
        one group of which the right one scores higher, equal ones a half; `critic_brier`, the mean of
        (sigma(psi) - R)^2; and `group_mean_brier`, what it would be of the mean label of the rest of the group.
    """
    names = ("residual_mean", "critic_accuracy", "critic_brier", "group_mean_brier")
    chances, right = _mixed(scores, labels, size)
    if len(right) == 0:
        return dict.fromkeys(names)
    pairs = (right[:, :, None] > right[:, None, :]).double()
    higher = (chances[:, :, None] > chances[:, None, :]).double()
    equal = (chances[:, :, None] == chances[:, None, :]).double()
    values = (
        (chances - right).abs().mean(),
        (pairs * (higher + equal / 2)).sum() / pairs.sum(),
        (chances - right).square().mean(),
        ((right.sum(1, keepdim=True) - right) / (size - 1) - right).square().mean(),
    )
    return {name: float(value) for name, value in zip(names, values, strict=True)}


class Calibration:
    """How often responses are right, by sigma(psi), over a whole run, in the groups that `critic` takes.

    Once as they are, and once with both classes of a group weighing the same: what PACS's balanced weights train it to.
    """

    def __init__(self) -> None:
        self._sums = torch.zeros(BINS, 5, dtype=torch.float64)

    def add(self, scores: torch.Tensor, labels: torch.Tensor, size: int) -> None:
        """Rows as `critic` takes them."""
        chances, right = _mixed(scores, labels, size)
        alike = torch.where(right == 1, right.sum(1, keepdim=True), (1 - right).sum(1, keepdim=True))
        weights = size / (2 * alike)
        columns = (torch.ones_like(chances), chances, right, weights, weights * right)
        bins = (chances.flatten() * BINS).long().clamp(max=BINS - 1)
        self._sums.index_add_(0, bins, torch.stack([column.flatten() for column in columns], dim=1))

    def bins(self) -> list[list[float]]:
        """[count, sum of sigma(psi), of R, of w, of w R] of each tenth of sigma(psi); w balances a group's classes."""
        return [[int(count), chance, int(right), *weighed] for count, chance, right, *weighed in self._sums.tolist()]


def _mixed(scores: torch.Tensor, labels: torch.Tensor, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(K, size) float64 sigma(psi) and labels of the K groups with both classes and a score other than 0."""
    chances, right = scores.double().sigmoid().view(-1, size), labels.double().view(-1, size)
    mixed = (right.mean(1) > 0) & (right.mean(1) < 1) & (scores.view(-1, size) != 0).any(1)
    return chances[mixed], right[mixed]
