"""The gap between the policy and the engine that sampled, taken out of the gradient a token at a time."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field

from pacs.algorithm.checks import check_shape
from pacs.base.typed_settings import Settings


class CorrectionConfig(Settings):
    """Weights pi_old/mu of tokens, mu being what the engine sampled with: keys of `method.update.correction`."""

    #: What a token's gradient is multiplied by. truncate: min(pi_old/mu, cap). mask: pi_old/mu, but 0 where it is above
    #: the cap or below 1/cap. None (null): 1.
    kind: Literal["truncate", "mask"] | None = None
    #: The largest weight.
    cap: float = Field(default=2.0, gt=1, description="a ratio above 1, as 2.0")
    #: The largest geometric mean of a response's ratios pi_old/mu: where it is above, or below the inverse, all tokens
    #: of the response have the weight 0. None (null): no response is left out.
    sequence_cap: Annotated[float, Field(gt=1)] | None = Field(
        default=None, description="a ratio above 1, as 1.001, or null to leave out no response"
    )

    @property
    def active(self) -> bool:
        """Whether any weight may differ from 1."""
        return self.kind is not None or self.sequence_cap is not None


def correction_weights(
    old_log_probs: torch.Tensor, rollout_log_probs: torch.Tensor, mask: torch.Tensor, config: CorrectionConfig
) -> torch.Tensor:
    """Truncated or masked importance weights of tokens, 0 in responses that are rejected.

    Args:
        old_log_probs: (B, T) log pi of the policy that was sent to the engine, as the trainer calculates it.
        rollout_log_probs: (B, T) log mu, as the engine gave it.
        mask: (B, T) bool, the response's tokens.
        config: how.

    Returns:
        (B, T) constants; 1 outside the mask and where a log-probability is not finite, which the loss then says.
    """
    check_shape("rollout_log_probs", rollout_log_probs, old_log_probs.shape)
    gaps = (old_log_probs - rollout_log_probs).detach()
    ratios = gaps.exp()
    counts = mask & ratios.isfinite()
    weights = torch.ones_like(ratios)
    if config.kind == "truncate":
        weights = ratios.clamp(max=config.cap)
    elif config.kind == "mask":
        weights = torch.where((ratios > config.cap) | (ratios < 1 / config.cap), 0, ratios)
    if config.sequence_cap is not None:
        mean = torch.where(counts, gaps, 0).sum(dim=1) / counts.sum(dim=1).clamp(min=1)
        weights = torch.where((mean.abs() > math.log(config.sequence_cap))[:, None], 0, weights)
    return torch.where(counts, weights, 1)


def scale_gradient(log_probs: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """(B, T) `log_probs` as they are, whose gradient is multiplied by (B, T) constant `factors`, finite everywhere."""
    return log_probs.detach() + factors * (log_probs - log_probs.detach())
