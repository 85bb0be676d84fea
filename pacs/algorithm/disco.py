"""DisCO (arXiv 2505.12366): right responses are to score above wrong ones, under a bound on the divergence."""

from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.class_balance import in_mixed_group
from pacs.algorithm.method import Method
from pacs.algorithm.rows import Rows

#: A token's ratio is at most e to this, as in PPO's loss.
LARGEST_LOG_RATIO = 20.0
TAU = {"log_likelihood": 10.0, "ratio": 1.0}


class Disco(Method):
    """losses_i = -(1/n) sum_right s + tau log((1/(G-n)) sum_wrong e^(s/tau)), in all rows of a group with n right.

    s is the mean over a response's tokens of log pi_theta, or of the ratio to the policy that sampled
    (`reference.reset_every` is 1). Each row of the mini-batch has (kl_weight/2) max(0, KL - kl_bound)^2 besides, where
    KL is the mean of -log-ratio over all its tokens. A group of one class has that alone.
    """

    #: What a response scores: log_likelihood or ratio.
    score: Literal["log_likelihood", "ratio"] = "log_likelihood"
    #: Temperature of the softmax over wrong responses; None (null): the authors' 10 (log_likelihood) or 1 (ratio).
    tau: float | None = Field(default=None, gt=0, description="a number above 0, or null for the authors'")
    #: Weight of the divergence above its bound; 0: none.
    kl_weight: float = Field(default=1e3, ge=0, description="the authors use 1000")
    #: What the divergence a token may be, in nats.
    kl_bound: float = Field(default=1e-4, ge=0, description="the authors use 0.0001")

    @property
    def compares_with_sampler(self) -> bool:
        """Its ratios, and its divergence, are to that policy."""
        return True

    @property
    def smallest_group(self) -> int:
        """One of each class."""
        return 2

    @property
    def needs_log_likelihoods(self) -> bool:
        """For the score."""
        return self.score == "log_likelihood"

    @property
    def tokenwise(self) -> bool:
        """For the score."""
        return self.score == "ratio"

    @property
    def whole_mini_batch(self) -> bool:
        """The divergence is the mini-batch's."""
        return self.kl_weight > 0

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """The ratio."""
        return log_ratios.clamp(max=LARGEST_LOG_RATIO).exp()

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,): each row has its group's, and the mini-batch's; a response without a token has no score."""
        tau, groups = self.tau or TAU[self.score], rows.groups.keep(rows.lengths > 0)
        sums = rows.log_likelihoods if rows.token_sums is None else rows.token_sums
        assert sums is not None
        scores = sums / rows.lengths.clamp(min=1)
        mixed = in_mixed_group(rows.labels, groups)
        right, wrong = mixed & (rows.labels == 1), mixed & (rows.labels == 0)
        count = groups.sum(right.to(scores.dtype))
        of_right = groups.sum(torch.where(right, scores, 0)) / count.clamp(min=1)
        of_wrong = tau * (groups.logsumexp(scores / tau, wrong) - (groups.sizes - count).clamp(min=1).log())
        losses = torch.where(mixed, groups.of_rows(of_wrong.where(of_wrong > -torch.inf, 0) - of_right), 0)
        tokens = torch.where(groups.rows, rows.lengths, 0).sum().clamp(min=1)
        divergence = -torch.where(groups.rows, rows.log_ratios, 0).sum() / tokens
        return losses + self.kl_weight / 2 * (divergence - self.kl_bound).clamp(min=0).square()
