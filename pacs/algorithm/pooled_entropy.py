"""A token weight after SEPA: by the entropy of a token, where those of a response's other tokens are one."""

import torch
from pydantic import Field

from pacs.algorithm.token_weight import Advantages, Streams, TokenWeight


class PooledEntropy(TokenWeight):
    """max(0, 1 + strength (H'/mean H' - 1)), the mean over a response: GTPO's weight, as SEPA's public code has it.

    H' is H at planning tokens, elsewhere (1 - pooling) H + pooling (mean H of the response's other tokens). SEPA finds
    planning tokens by phrases; here they are the `share` of all tokens whose H is highest, and ties.
    """

    READS = ("entropy",)
    share: float = Field(default=0.2, gt=0, le=1, description="a share above 0, of 1 at most")
    pooling: float = Field(default=1.0, ge=0, le=1, description="a number from 0 to 1; 1 makes them one")
    strength: float = Field(default=0.1, gt=0, description="a number above 0, as 0.1")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T), 0 or more; 1 in a response without entropy."""
        entropy = streams["entropy"]
        of_all = entropy[mask].sort(descending=True).values
        if not len(of_all):
            return torch.ones_like(entropy)
        others = mask & (entropy < of_all[max(1, round(self.share * len(of_all))) - 1])
        pooled = (1 - self.pooling) * entropy + self.pooling * _means(entropy, others)
        shaped = torch.where(others, pooled, entropy)
        means = _means(shaped, mask)
        relative = torch.where(means > 1e-7, shaped / means.clamp(min=1e-7), 1)
        return (1 + self.strength * (relative - 1)).clamp(min=0)


def _means(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(B, 1) over each row's tokens under the mask; 0 where there are none."""
    return torch.where(mask, values, 0).sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1)
