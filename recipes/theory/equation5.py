"""Eq. 5 with both of its terms, and the mean and noise of a sampled gradient, by all groups of six responses."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch

from pacs.algorithm import Method, Pacs
from recipes.theory.enumeration import (
    all_groups,
    by_logits,
    expected_loss,
    first_term,
    log_softmax,
    sampled_gradient,
    solve_groups,
)
from recipes.theory.flow import ANSWERS, LABELS, descend, start

SIX = torch.tensor([1.0, 1, 0, 0, 0, 1], dtype=torch.float64)
STEP = 1e-5


def case() -> tuple[torch.Tensor, torch.Tensor]:
    """(1, 6) float64 logits of a policy and of its reference; responses 0, 1 and 5 are right."""
    generator = torch.Generator().manual_seed(0)
    theta, reference = torch.randn(2, 1, len(SIX), generator=generator, dtype=torch.float64)
    return theta, theta + 0.7 * reference


def finite_differences(function: Callable[[torch.Tensor], torch.Tensor], theta: torch.Tensor) -> torch.Tensor:
    """(1, A) central differences of a function of (1, A) logits, of order 4."""
    slopes = []
    for unit in torch.eye(theta.shape[1], dtype=torch.float64):
        at = {k: function(theta + k * STEP * unit) for k in (-2, -1, 1, 2)}
        slopes.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * STEP))
    return torch.stack(slopes, dim=1)


class Terms(NamedTuple):
    """Eq. 5 of one method.

    Attributes:
        error: of first and second term together against finite differences of the expected loss, relative.
        option_error: of what `policy_gradient_term=true` adds, against the first term, relative.
        ratio: norm of the first term by that of the second.
        cosine: between them.
    """

    error: float
    option_error: float
    ratio: float
    cosine: float


def terms(method: Pacs, size: int) -> Terms:
    """Of the case above, in groups of `size`."""
    theta, reference = case()
    policy, of_reference, groups = log_softmax(theta), log_softmax(reference), all_groups(len(SIX), size)
    full_gradient = finite_differences(lambda at: expected_loss(method, at, of_reference, SIX, groups), theta)
    first = first_term(method, policy, of_reference, SIX, groups)
    second = sampled_gradient(method, policy, of_reference, SIX, groups)
    option = sampled_gradient(
        method.model_copy(update={"policy_gradient_term": True}), policy, of_reference, SIX, groups
    )
    return Terms(relative(first + second, full_gradient), relative(option - second, first), *_compared(first, second))


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Norm of the difference by that of what is expected."""
    return float((found - expected).norm() / expected.norm())


def _compared(first: torch.Tensor, second: torch.Tensor) -> tuple[float, float]:
    return float(first.norm() / second.norm()), float(torch.cosine_similarity(first, second))


class Along(NamedTuple):
    """The two terms along a descent by the second: one entry a mark.

    Attributes:
        ratio: norm of the first term by that of the second.
        cosine: between them.
    """

    ratio: list[float]
    cosine: list[float]


@cache
def along(marks: tuple[int, ...], periods: tuple[int | None, ...], lr: float) -> dict[int | None, Along]:
    """Of 12 responses, 5 right, G = 2, after so many updates."""
    method, groups = Pacs(), all_groups(ANSWERS, 2)
    found = {period: Along([], []) for period in periods}
    for theta, reference in descend(method, periods, lr, groups, start(), marks):
        policy, of_reference = log_softmax(theta), log_softmax(reference)
        first = first_term(method, policy, of_reference, LABELS, groups)
        second = sampled_gradient(method, policy, of_reference, LABELS, groups)
        for i, period in enumerate(periods):
            ratio, cosine = _compared(first[i : i + 1], second[i : i + 1])
            found[period].ratio.append(ratio)
            found[period].cosine.append(cosine)
    return found


class Spread(NamedTuple):
    """A sampled gradient of one group, by all groups.

    Attributes:
        error: of its mean against finite differences of the loss in which only what is scored moves, relative.
        variance: trace of its covariance by the squared norm of its mean.
    """

    error: float
    variance: float


def spread(method: Method, distance: float, size: int = 3) -> Spread:
    """Of the case above; the reference is `distance` times as far away as there, and at 0 is the policy."""
    theta, other = case()
    policy, of_reference = log_softmax(theta), log_softmax(theta + distance * (other - theta))
    groups = all_groups(len(SIX), size)
    chances = groups.log_probability(policy).exp()
    gradients = by_logits(solve_groups(method, policy, of_reference, SIX, groups).slopes / size, policy, groups.members)
    mean = (chances[..., None] * gradients).sum(dim=1)
    second_moment = (chances * gradients.square().sum(dim=2)).sum()

    def scored(at: torch.Tensor) -> torch.Tensor:
        losses = solve_groups(method, log_softmax(at), of_reference, SIX, groups).losses.mean(dim=2)
        return (chances * losses).sum(dim=1)

    square = mean.square().sum()
    return Spread(relative(mean, finite_differences(scored, theta)), float((second_moment - square) / square))


class Dropped(NamedTuple):
    """The mean of a mini-batch's gradient, single-class groups dropped, against that of a batch of many groups.

    Attributes:
        drop: its relative distance.
        cosine: between the two.
        none: the chance that a mini-batch has no mixed group.
        keep: the relative distance with single-class groups kept.
    """

    drop: float
    cosine: float
    none: float
    keep: float


def dropped_bias(size: int = 2) -> Dropped:
    """Of mini-batches of two groups of one prompt."""
    theta, reference = case()
    policy, of_reference, groups = log_softmax(theta), log_softmax(reference), all_groups(len(SIX), size)
    chances = groups.log_probability(policy).exp()[0]
    distances, cosines, empty = [], [], []
    for kept in ("drop", "keep"):
        method = Pacs(single_class_groups=kept)
        solved = solve_groups(method, policy, of_reference, SIX, groups)
        gradients = by_logits(solved.slopes, policy, groups.members)[0]
        active = solved.active[0].sum(dim=1)
        both = gradients[:, None] + gradients
        n = (active[:, None] + active).clamp(min=1)
        mean = ((chances[:, None] * chances / n)[..., None] * both).sum(dim=(0, 1))
        many = sampled_gradient(method, policy, of_reference, SIX, groups)[0]
        distances.append(relative(mean, many))
        cosines.append(float(torch.cosine_similarity(mean, many, dim=0)))
        empty.append(float(chances[active == 0].sum()) ** 2)
    return Dropped(distances[0], cosines[0], empty[0], distances[1])
