"""Clip-Cov and KL-Cov (arXiv 2505.22617), chosen over the whole train batch: verl chooses within each micro-batch.

The covariance of a token is (A - mean A)(ln pi - mean ln pi), means over all tokens that count, at the policy that
sampled. Where it is high, the update takes entropy away.
"""

from typing import ClassVar

import torch
from pydantic import Field

from pacs.algorithm.token_weight import Advantages, Streams, TokenWeight

_SHARE = "a share above 0, of 1 at most; the authors use 0.0002"


class ClipCov(TokenWeight):
    """Clip-Cov: 0 for a `share` of all tokens, at least one, drawn among those with low < covariance < high; else 1.

    The draw is by a hash of the seed, the token's place, the response's length and ln pi to 1/1024: the same for any
    order of the rows, any split, and a run that goes on.
    """

    READS = ("old_log_probs",)
    BY_ADVANTAGES: ClassVar[bool] = True
    ASCENDING = (("low", "high"),)
    share: float = Field(default=0.0002, gt=0, le=1, description=_SHARE)
    low: float = Field(default=1.0, description="a covariance, in nats times the method's advantages")
    high: float = Field(default=5.0, description="a covariance, in nats times the method's advantages")
    seed: int = 0

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) bool."""
        log_probs = streams["old_log_probs"]
        each = covariances(mask, log_probs, advantages())
        rows, places = ((each > self.low) & (each < self.high)).nonzero(as_tuple=True)
        order = each[rows, places].argsort(stable=True)  # of equal hashes, the lower covariance first
        drawn = order[_hashes(mask, log_probs, self.seed)[rows, places][order].argsort(stable=True)]
        drawn = drawn[: at_least_one(self.share, mask)]
        kept = torch.ones_like(mask)
        kept[rows[drawn], places[drawn]] = False
        return kept


class KlCov(TokenWeight):
    """KL-Cov: the `share` of all tokens with the highest covariance, and ties, are held at the policy that sampled.

    No weight can say so, since the penalty's gradient is 0 at that policy: it is a `drift_penalty` beside the loss.
    """

    READS = ("old_log_probs",)
    BY_ADVANTAGES: ClassVar[bool] = True
    PENALIZES: ClassVar[bool] = True
    share: float = Field(default=0.0002, gt=0, le=1, description=_SHARE)
    coefficient: float = Field(default=1.0, gt=0, description="a number above 0, as the authors' 1.0")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) 1."""
        return torch.ones_like(mask)

    def penalties(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) the coefficient, or 0."""
        each = covariances(mask, streams["old_log_probs"], advantages())
        of_all = each[mask].sort(descending=True).values
        if not len(of_all):
            return torch.zeros_like(each)
        chosen = mask & (each >= of_all[at_least_one(self.share, mask) - 1])
        return self.coefficient * chosen.double()


def covariances(mask: torch.Tensor, log_probs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """(B, T) float64, -inf outside the mask."""
    tokens = mask.sum().clamp(min=1)
    centered = (
        values - torch.where(mask, values, 0).sum() / tokens for values in (advantages.double(), log_probs.double())
    )
    return torch.where(mask, next(centered) * next(centered), -torch.inf)


def at_least_one(share: float, mask: torch.Tensor) -> int:
    """How many tokens under the mask a share is, as verl rounds it."""
    return max(1, int(share * int(mask.sum())))


def _hashes(mask: torch.Tensor, log_probs: torch.Tensor, seed: int) -> torch.Tensor:
    """(B, T) int64, as good as random."""
    places, lengths = mask.cumsum(dim=1), mask.sum(dim=1, keepdim=True)
    mixed = torch.full_like(places, seed)
    for part in ((log_probs.double() * 1024).round().long(), places, lengths):
        mixed = mixed * 0x2545F4914F6CDD1D + part * 0x9E3779B97F4A7C1 + 0x632BE59BD9B4E019
        mixed = mixed ^ (mixed >> 29)
        mixed = mixed * 0x7FB5D329728EA185
        mixed = mixed ^ (mixed >> 32)
    return mixed
