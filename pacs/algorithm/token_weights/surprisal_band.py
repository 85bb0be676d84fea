"""RSI selection (arXiv 2606.31575): tokens that were about as surprising as their place lets expect."""

from typing import Self

import torch
from pydantic import Field, model_validator

from pacs.algorithm.token_weights.base import Tokens, TokenWeight, check_ascending

#: Entropies below this, in nats, count as this.
SMALLEST_ENTROPY = 1e-12


class SurprisalBand(TokenWeight):
    """1 where low <= -ln pi / H <= high, else 0: the surprisal of a token, relative to the mean that its place has, H.

    That the index is this ratio is read from the paper's abstract; the band's defaults are ours.
    """

    #: The smallest relative surprisal that carries the gradient.
    low: float = Field(default=0.5, ge=0, description="a ratio of 0 or more; 1 is the mean of every place")
    #: The largest.
    high: float = Field(default=2.0, gt=0, description="a ratio above 0; 1 is the mean of every place")

    @property
    def reads(self) -> tuple[str, ...]:
        """ln pi and H."""
        return ("old_log_probs", "entropy")

    @model_validator(mode="after")
    def _band(self) -> Self:
        check_ascending("surprisal_band", self, "low", "high")
        return self

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) bool."""
        relative = -tokens.streams["old_log_probs"] / tokens.streams["entropy"].clamp(min=SMALLEST_ENTROPY)
        return (relative >= self.low) & (relative <= self.high)
