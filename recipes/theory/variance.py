"""The mean and the noise of a sampled gradient, by all groups or mini-batches that can be sampled."""

from typing import NamedTuple

import torch

from pacs.algorithm import Method, Pacs
from recipes.theory.enumeration import all_groups, by_logits, log_softmax, sampled_gradient, solve_groups
from recipes.theory.equation5 import SIX, case, finite_differences, relative


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


def dropped_bias(size: int = 2) -> tuple[float, float]:
    """Mini-batches of two groups of one prompt, single-class groups dropped and kept: the relative distance of the mean
    of their gradients from that of a batch of many groups."""
    theta, reference = case()
    policy, of_reference, groups = log_softmax(theta), log_softmax(reference), all_groups(len(SIX), size)
    chances = groups.log_probability(policy).exp()[0]
    distances = []
    for kept in ("drop", "keep"):
        method = Pacs(single_class_groups=kept)
        solved = solve_groups(method, policy, of_reference, SIX, groups)
        gradients = by_logits(solved.slopes, policy, groups.members)[0]
        counted = solved.counted[0].sum(dim=1)
        both = gradients[:, None] + gradients
        n = (counted[:, None] + counted).clamp(min=1)
        mean = ((chances[:, None] * chances / n)[..., None] * both).sum(dim=(0, 1))
        many = sampled_gradient(method, policy, of_reference, SIX, groups)[0]
        distances.append(relative(mean, many))
    return distances[0], distances[1]
