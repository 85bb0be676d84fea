"""MaxRL (arXiv 2602.02710): policy gradients whose expectation climbs the log of the pass rate as the group grows."""

import torch

from pacs.algorithm.clipped import ClippedBothWays
from pacs.algorithm.groups import Groups


class MaxRl(ClippedBothWays):
    """A_i = (R_i - q)/q, q the pass rate of the group; 0 in groups without a right response.

    The theorem of the paper has an order of G; every public code, and this one, one less, since a group without a right
    response has no gradient.
    """

    @property
    def soft_labels(self) -> bool:
        """They enter as numbers."""
        return True

    @property
    def smallest_group(self) -> int:
        """A response by itself is its own mean."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        pass_rates = counted.of_rows(counted.sum(labels) / counted.sizes.clamp(min=1))
        return torch.where(pass_rates > 0, counted.center(labels) / pass_rates.where(pass_rates > 0, 1), 0)
