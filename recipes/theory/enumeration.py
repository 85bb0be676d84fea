"""Policies over a few responses, and expectations over every group that they can sample.

A policy is a softmax over A responses, its parameters the logits. A group of G responses is a multiset: what order they
came in changes no sum over the group. V policies are dealt with at once.
"""

import math
from itertools import combinations_with_replacement
from typing import NamedTuple

import torch

from pacs.algorithm import Method, method_loss


class Groups(NamedTuple):
    """All M multisets of G responses.

    Attributes:
        members: (M, G) int64 responses.
        log_orders: (M,) float64 log of the number of orders that a multiset can come in.
    """

    members: torch.Tensor
    log_orders: torch.Tensor

    def log_probability(self, log_policy: torch.Tensor) -> torch.Tensor:
        """(V, M) log-probability of each group under (V, A) log pi; it carries the gradient."""
        return log_policy[:, self.members].sum(dim=2) + self.log_orders


def all_groups(answers: int, size: int) -> Groups:
    """Every group of `size` responses out of `answers`."""
    members = torch.tensor(list(combinations_with_replacement(range(answers), size)))
    counts = torch.nn.functional.one_hot(members, answers).sum(dim=1).double()
    return Groups(members, math.lgamma(size + 1) - torch.lgamma(counts + 1).sum(dim=1))


class Solved(NamedTuple):
    """What a method makes of every group of V policies, each (V, M, G) float64.

    Attributes:
        losses: w l of each response.
        slopes: derivative of the sum of a group's losses by the log-likelihood of each response.
        active: 1 if the response counts in N.
    """

    losses: torch.Tensor
    slopes: torch.Tensor
    active: torch.Tensor


def solve_groups(
    method: Method, policy: torch.Tensor, reference: torch.Tensor, labels: torch.Tensor, groups: Groups
) -> Solved:
    """Losses and their slopes by `pacs.algorithm.method_loss`, in responses of one token.

    Args:
        method: with its settings.
        policy: (V, A) float64 log pi.
        reference: (V, A) float64 log pi_ref.
        labels: (A,) or (V, A) float64.
        groups: that are solved.
    """
    shape = (len(policy), *groups.members.shape)
    rows = policy.detach()[:, groups.members].reshape(-1, 1).requires_grad_()
    of_reference = reference[:, groups.members].reshape(-1, 1)
    targets = labels.expand(len(policy), -1)[:, groups.members].reshape(-1)
    ids = torch.arange(shape[0] * shape[1]).repeat_interleave(shape[2])
    mask = torch.ones_like(rows)
    loss, columns = method_loss(rows, of_reference, mask, targets, ids, method, denominator=1)
    slopes = torch.autograd.grad(loss, rows)[0]
    parts = (columns["loss"], slopes, columns["active"])
    return Solved(*(part.detach().reshape(shape) for part in parts))


def log_softmax(theta: torch.Tensor) -> torch.Tensor:
    """Log pi of logits."""
    return theta.log_softmax(dim=-1)


def by_logits(slopes: torch.Tensor, policy: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """(V, M, A) of sum_i slope_i d log pi(o_i)/d logits = the unit vector of o_i - pi, for (V, M, G) slopes."""
    index = members.expand(*slopes.shape)
    sums = slopes.new_zeros(*slopes.shape[:2], policy.shape[1]).scatter_add(2, index, slopes)
    return sums - slopes.sum(dim=2, keepdim=True) * policy.exp()[:, None]


def sampled_gradient(
    method: Method, policy: torch.Tensor, reference: torch.Tensor, labels: torch.Tensor, groups: Groups
) -> torch.Tensor:
    """(V, A) expected gradient of a sampled batch by the logits, as autograd gives it: the second term of Eq. 5.

    N is the expected number of responses that count, as in a batch of many groups.
    """
    solved = solve_groups(method, policy, reference, labels, groups)
    chances = groups.log_probability(policy).exp()
    expected = (chances[..., None] * by_logits(solved.slopes, policy, groups.members)).sum(dim=1)
    active = (chances[..., None] * solved.active).sum(dim=(1, 2))
    return expected / active.clamp(min=1e-300)[:, None]


def expected_loss(
    method: Method, theta: torch.Tensor, reference: torch.Tensor, labels: torch.Tensor, groups: Groups
) -> torch.Tensor:
    """(V,) E over groups of L, for (V, A) logits: the policy that samples is the one that is scored."""
    policy = log_softmax(theta)
    solved = solve_groups(method, policy, reference, labels, groups)
    return (groups.log_probability(policy).exp() * solved.losses.mean(dim=2)).sum(dim=1)


def first_term(
    method: Method, policy: torch.Tensor, reference: torch.Tensor, labels: torch.Tensor, groups: Groups
) -> torch.Tensor:
    """(V, A) by the logits: E over groups of L times the gradient of the group's log-probability."""
    solved = solve_groups(method, policy, reference, labels, groups)
    mean_losses = solved.losses.mean(dim=2, keepdim=True).expand_as(solved.losses)
    chances = groups.log_probability(policy).exp()
    return (chances[..., None] * by_logits(mean_losses, policy, groups.members)).sum(dim=1)
