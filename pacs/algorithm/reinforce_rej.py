"""Reinforce-Rej (arXiv 2504.11343): REINFORCE without baseline, on groups of both classes."""

import torch

from pacs.algorithm.class_balance import in_mixed_group
from pacs.algorithm.clipped import ClippedBothWays
from pacs.algorithm.groups import Groups


class ReinforceRej(ClippedBothWays):
    """A_i = 1 of right responses and -1 of wrong ones; groups of one class are left out.

    (As shipped, the authors' labels of 0 and 1 give wrong responses no gradient; the paper's text has -1.)
    """

    @property
    def smallest_group(self) -> int:
        """One of each class."""
        return 2

    def counted(self, labels: torch.Tensor, groups: Groups) -> Groups:
        """Mixed groups."""
        return groups.keep(in_mixed_group(labels, groups))

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        return torch.where(counted.rows, 2 * labels - 1, 0)
