"""The gap between the policy and the engine that sampled, taken out of the gradient a token at a time."""

import math
from typing import Annotated, Literal, Self

import torch
from pydantic import Field, model_validator

from pacs.algorithm.checks import check_shape
from pacs.base.typed_settings import Settings


class CorrectionConfig(Settings):
    """Weights pi_old/mu of tokens, mu being what the engine sampled with: keys of `method.update.correction`."""

    #: What a token's gradient is multiplied by. truncate: min(pi_old/mu, cap). mask: pi_old/mu, but 0 where it is above
    #: the cap or below `lower`. None (null): 1.
    kind: Literal["truncate", "mask"] | None = None
    #: The largest weight.
    cap: float = Field(default=2.0, gt=1, description="a ratio above 1, as 2.0")
    #: Of mask: the least weight but 0. None (null): 1/cap.
    lower: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="a ratio above 0 and below 1, as 0.5, or null for 1/cap"
    )
    #: The largest geometric mean of a response's ratios pi_old/mu: where it is above, or below `sequence_lower`, all
    #: tokens of the response have the weight 0. None (null): no response is left out.
    sequence_cap: Annotated[float, Field(gt=1)] | None = Field(
        default=None, description="a ratio above 1, as 1.001, or null to leave out no response"
    )
    #: The least. None (null): 1/sequence_cap.
    sequence_lower: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="a ratio above 0 and below 1, as 0.999, or null for 1/sequence_cap"
    )

    @model_validator(mode="after")
    def _all_is_read(self) -> Self:
        at, read = "method.update.correction.", {"cap": self.kind, "lower": self.kind == "mask"}
        for name, reader in (read | {"sequence_lower": self.sequence_cap}).items():
            if not reader and getattr(self, name) != type(self).model_fields[name].default:
                by = {"cap": "kind=truncate or mask", "lower": "kind=mask"}.get(name, "sequence_cap")
                value = f"{at}{name}={getattr(self, name)}"
                raise ValueError(f"{value} is read with {at}{by} alone: set that, or leave this out")
        return self

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
    counts = mask & gaps.isfinite()  # a ratio may be beyond float32 and of finite log-probabilities
    weights = torch.ones_like(ratios)
    if config.kind == "truncate":
        weights = ratios.clamp(max=config.cap)
    elif config.kind == "mask":
        lower = config.lower or 1 / config.cap
        weights = torch.where((ratios > config.cap) | (ratios < lower), 0, ratios)
    if config.sequence_cap is not None:
        mean = torch.where(counts, gaps, 0).sum(dim=1) / counts.sum(dim=1).clamp(min=1)
        lower = config.sequence_lower or 1 / config.sequence_cap
        outside = (mean > math.log(config.sequence_cap)) | (mean < math.log(lower))
        weights = torch.where(outside[:, None], 0, weights)
    return torch.where(counts, weights, 1)


def scale_gradient(log_probs: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """(B, T) `log_probs` as they are, whose gradient is multiplied by (B, T) constant `factors`, finite everywhere."""
    return log_probs.detach() + factors * (log_probs - log_probs.detach())
