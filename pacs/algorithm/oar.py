"""OAR-G (arXiv 2601.07408): tokens on which the answer depends are worth more than those it does not."""

from typing import ClassVar

import torch
from pydantic import Field

from pacs.algorithm.token_weight import Advantages, Streams, TokenWeight

#: The stream of |e . dphi/de|: e is the embedding of a response's token, phi the mean log pi of its answer's tokens.
SENSITIVITY = "answer_sensitivity"


class Oar(TokenWeight):
    """max(u / q, least) below the quantile q of a response's u, else 1 + boost (u - q) / (1 - q); over their mean.

    u is ln(1 + sensitivity), from 0 at the least of the response's tokens to 1 at the largest. The form is that of the
    authors' code with the answer's log-likelihood; its noise on the embeddings is left out. The tokens of the answer
    have a weight of 1, and none of the others' mean.
    """

    READS: ClassVar[tuple[str, ...]] = (SENSITIVITY,)
    answer: int = Field(default=8, ge=1, description="a whole number of tokens")
    quantile: float = Field(default=0.5, ge=0, lt=1, description="a share below 1, as 0.5")
    boost: float = Field(default=1.0, ge=0, description="a number of 0 or more, as 1.0")
    least: float = Field(default=0.1, gt=0, le=1, description="a weight of 1 at most; the authors use 0.1")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T), whose mean over a response's tokens is 1."""
        sensitivity = streams[SENSITIVITY].double()
        found = torch.ones_like(sensitivity)
        before = mask & (mask.flip(1).cumsum(1).flip(1) > self.answer)
        for row in before.any(1).nonzero()[:, 0].tolist():
            tokens = before[row]
            scale = sensitivity[row, tokens].log1p()
            u = (scale - scale.min()) / (scale.max() - scale.min()).clamp(min=1e-12)
            q = u.quantile(self.quantile)
            low = (u / q.clamp(min=1e-8)).clamp(min=self.least)
            shaped = torch.where(u < q, low, 1 + self.boost * (u - q) / (1 - q).clamp(min=1e-8))
            found[row, tokens] = shaped / shaped.mean()
        return found
