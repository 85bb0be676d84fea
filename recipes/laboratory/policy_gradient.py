"""Policy gradients with an advantage a response: GRPO, Dr. GRPO, RLOO and DAPO, as verl 0.9.1 has them."""

from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.clipped import LARGEST_LOG_RATIO, ClippedBothWays
from pacs.algorithm.groups import Groups

GRPO_EPSILON = 1e-6

#: What the tokens' losses are summed up to, by verl's names.
Aggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]


class PolicyGradient(ClippedBothWays):
    """A method whose token losses are -A rho, and what their sum over a mini-batch is divided by."""

    #: clipped: rho is PPO's clipped importance ratio. unclipped: the importance ratio as it is. none: there is no
    #: ratio, rho is log pi_theta and the gradient REINFORCE's, whoever sampled.
    ratio: Literal["clipped", "unclipped", "none"] = "clipped"
    #: token-mean: by the mini-batch's tokens. seq-mean-token-sum: by its responses. seq-mean-token-sum-norm: by its
    #: responses times the most tokens that a response may have.
    aggregation: Aggregation = "token-mean"

    @property
    def soft_labels(self) -> bool:
        """They enter as numbers."""
        return True

    def token_values(self, log_ratios: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """rho of each token, up to a constant; `weights` may be a token's, too."""
        if self.ratio == "none":
            return log_ratios
        if self.ratio == "unclipped":
            return log_ratios.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
        return super().token_values(log_ratios, weights)

    def denominator(self, response_mask: torch.Tensor, max_response_tokens: int) -> int:
        """What the token losses of a mini-batch are divided by.

        Args:
            response_mask: (B, T) bool, of all its responses.
            max_response_tokens: of a response.
        """
        if self.aggregation == "token-mean":
            return int(response_mask.sum())
        return len(response_mask) * (max_response_tokens if self.aggregation == "seq-mean-token-sum-norm" else 1)


class Grpo(PolicyGradient):
    """A_i = (R_i - q) / (s + 1e-6), with q the group's mean label and s its unbiased standard deviation."""

    @property
    def smallest_group(self) -> int:
        """A response by itself is its own mean."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        centered = counted.center(labels)
        variance = counted.sum(centered.square()) / (counted.sizes - 1).clamp(min=1)
        return centered / (counted.of_rows(variance.sqrt()) + GRPO_EPSILON)


class Dapo(Grpo):
    """GRPO with a wider clip for what grows, and with new prompts for those whose responses are all alike."""

    clip_high: float = Field(default=0.28, ge=0, description="0.28 lets it grow by a quarter")
    clip_dual: float | None = Field(default=10.0, gt=1, description="a ratio above 1, or null for none")
    #: How often a step samples at most: each time newly drawn prompts, as many as groups of both classes are missing.
    rounds: int = Field(default=3, ge=1, description="1 replaces no prompt")


class DrGrpo(PolicyGradient):
    """A_i = R_i - q, and no response counts less for being long."""

    aggregation: Aggregation = "seq-mean-token-sum-norm"

    @property
    def smallest_group(self) -> int:
        """A response by itself is its own mean."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        return counted.center(labels)


class Rloo(PolicyGradient):
    """A_i = R_i less the mean label of the rest of its group."""

    aggregation: Aggregation = "seq-mean-token-sum"

    @property
    def smallest_group(self) -> int:
        """There has to be a rest."""
        return 2

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) advantages."""
        sizes = counted.of_rows(counted.sizes).to(labels.dtype)
        return counted.center(labels) * (sizes / (sizes - 1).clamp(min=1))
