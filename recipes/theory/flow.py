"""Where a policy of 12 responses, 5 of them right, comes to by the expected update, for each period of resets."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from pacs.algorithm import Method
from recipes.theory.enumeration import Groups, log_softmax, sampled_gradient

ANSWERS, RIGHT = 12, 5
LABELS = (torch.arange(ANSWERS) < RIGHT).double()


def start() -> torch.Tensor:
    """(A,) float64 logits of the first reference: normal, of a standard deviation of one half."""
    return 0.5 * torch.randn(ANSWERS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class State(NamedTuple):
    """What (V, A) policies are, each (V,) float64 in nats but the pass rate.

    Attributes:
        pass_rate: p.
        entropy: of the policy.
        right_entropy: of the policy given a right response.
        kl: KL(policy given a right response, first reference given a right response).
    """

    pass_rate: torch.Tensor
    entropy: torch.Tensor
    right_entropy: torch.Tensor
    kl: torch.Tensor


def state(theta: torch.Tensor, first: torch.Tensor) -> State:
    """Of (V, A) logits, against (A,) logits of the first reference; responses 0 to 4 are right."""
    policy = log_softmax(theta)
    among, of_first = log_softmax(theta[:, :RIGHT]), log_softmax(first[:RIGHT])
    return State(
        policy[:, :RIGHT].exp().sum(dim=1),
        -(policy.exp() * policy).sum(dim=1),
        -(among.exp() * among).sum(dim=1),
        (among.exp() * (among - of_first)).sum(dim=1),
    )


def descend(
    method: Method,
    periods: Sequence[int | None],
    lr: float,
    groups: Groups,
    first: torch.Tensor,
    marks: Sequence[int],
    labels: torch.Tensor = LABELS,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Plain gradient descent on the logits by the expected update; yields at each mark.

    Args:
        method: with its settings; its own reset is not read.
        periods: updates between resets, a policy each; None never resets.
        lr: learning rate.
        groups: that can be sampled.
        first: (A,) logits of the first policy and reference.
        marks: increasing numbers of updates after which to yield.
        labels: (A,).

    Yields:
        (V, A) logits and (V, A) logits of the references that the last update had.
    """
    theta = first.expand(len(periods), -1).clone()
    reference = theta.clone()
    for update in range(1, marks[-1] + 1):
        due = torch.tensor([period is not None and (update - 1) % period == 0 for period in periods])
        reference[due] = theta[due]
        theta = theta - lr * sampled_gradient(method, log_softmax(theta), log_softmax(reference), labels, groups)
        if update in marks:
            yield theta, reference.clone()
