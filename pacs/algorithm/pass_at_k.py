"""Pass@k training, as verl's estimator grpo_passk: a group learns from its one right response."""

import torch

from pacs.algorithm.clipped import Clipped
from pacs.algorithm.groups import Groups


class PassAtK(Clipped):
    """A_i = (best label - second best)/std of the best response, and 0 of all others: of the one that is right alone.

    std is the group's unbiased standard deviation of labels, sqrt(1/G) where one is right. With more right responses
    than one the group would be solved without each of them, and there is no gradient.
    """

    #: Divide by the standard deviation.
    normalize_by_std: bool = True

    @property
    def smallest_group(self) -> int:
        """A best and a second best."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        alone = counted.rows & (labels == 1) & counted.of_rows(counted.sum(labels) == 1)
        scale = counted.of_rows(counted.sizes).to(labels.dtype).sqrt() if self.normalize_by_std else 1.0
        return torch.where(alone, scale, 0)
