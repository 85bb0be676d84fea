"""RAFT++ (arXiv 2504.11343): right responses alone are trained on, with a clipped importance ratio."""

import torch

from pacs.algorithm.clipped import Clipped
from pacs.algorithm.groups import Groups


class Raft(Clipped):
    """A_i = R_i."""

    @property
    def soft_labels(self) -> bool:
        """They enter as numbers."""
        return True

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        return torch.where(counted.rows, labels, 0)
