"""A weight by a token's place in its response, as an example: it reads nothing but the mask."""

from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.token_weights.base import Tokens, TokenWeight


class Position(TokenWeight):
    """From 1 at the first token of a response to `last` at its last: 1 + (last - 1) u, or last^u, with u from 0 to 1.

    u is the token's place among those that the policy wrote; a response of one token has the weight 1.
    """

    #: How the weight gets there: linear or exponential.
    shape: Literal["linear", "exponential"] = "linear"
    #: The weight of the last token.
    last: float = Field(default=0.5, gt=0, description="a weight above 0, as 0.5")

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) between 1 and `last`."""
        places = tokens.mask.cumsum(dim=1, dtype=torch.float32)
        u = ((places - 1) / (places[:, -1:] - 1).clamp(min=1)).clamp(min=0)
        return self.last**u if self.shape == "exponential" else 1 + (self.last - 1) * u
