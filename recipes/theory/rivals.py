"""Policy gradients that the theory page compares PACS with, as methods: an advantage, and PPO's clip."""

import torch

from pacs.algorithm.clipped import Clipped
from pacs.algorithm.groups import Groups

# What verl adds to the standard deviation.
GRPO_EPSILON = 1e-6


class Rloo(Clipped):
    """A_i = R_i - the mean label of the others in the group."""

    @property
    def smallest_group(self) -> int:
        """One to compare, and one to compare it with."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        sizes = counted.of_rows(counted.sizes).to(labels.dtype)
        return counted.center(labels) * sizes / (sizes - 1).clamp(min=1)


class Grpo(Clipped):
    """A_i = (R_i - q)/(s + 1e-6), q the mean and s the unbiased standard deviation of the group's labels."""

    @property
    def smallest_group(self) -> int:
        """As RLOO."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        centered = counted.center(labels)
        variance = counted.sum(centered.square()) / (counted.sizes - 1).clamp(min=1)
        return centered / (counted.of_rows(variance.sqrt()) + GRPO_EPSILON)
