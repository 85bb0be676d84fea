"""DelTA (arXiv 2605.21467): tokens whose gradients tell right from wrong are worth more than shared ones."""

from typing import ClassVar

import torch
from pydantic import Field

from pacs.algorithm.token_weight import Advantages, Streams, TokenWeight


class Delta(TokenWeight):
    """least + (most - least) sigmoid(margin / spread), over its mean: the authors' code, of all tokens of the batch.

    A token stands for its gradient at the head, v = (1 - pi) h, with h the last hidden state that it was drawn from.
    Its side is that of its advantage's sign; a side has a mean of its v, weighed by |A|, and a spread, the standard
    deviation of its margins. A margin is how much nearer (in squared distance) v is to the mean of its own side than to
    that of the other. In each round means are taken anew, weighed by |A| sigmoid(margin / spread), spreads of these
    margins, and margins to these means.
    """

    READS: ClassVar[tuple[str, ...]] = ("old_log_probs", "hidden_states")
    BY_ADVANTAGES: ClassVar[bool] = True
    ASCENDING = (("least", "most"),)
    rounds: int = Field(default=1, ge=0, description="a whole number of rounds; the authors use 1")
    least: float = Field(default=0.8, gt=0, description="a weight above 0; the authors use 0.8")
    most: float = Field(default=1.2, gt=0, description="a weight above 0; the authors use 1.2")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T), whose mean over the tokens is 1; those without an advantage have the least."""
        given, likely = advantages()[mask].double(), streams["old_log_probs"][mask].double().exp()
        vectors = (1 - likely)[:, None] * streams["hidden_states"][mask].double()
        signs, weights, found = given.sign(), given.abs(), torch.ones_like(advantages(), dtype=torch.float64)
        if not len(given):
            return found
        margins = _margins(vectors, signs, weights)
        scaled = margins / _spreads(margins, signs)
        for _ in range(self.rounds):
            spreads = _spreads(margins, signs)
            margins = _margins(vectors, signs, weights * scaled.sigmoid())
            scaled = margins / spreads
        shaped = self.least + (self.most - self.least) * scaled.sigmoid()
        shaped = torch.where(signs != 0, shaped, self.least)
        found[mask] = shaped / shaped.mean()
        return found


def _margins(vectors: torch.Tensor, signs: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(N,) |v - mean of the other side|^2 - |v - mean of the own|^2."""
    right, wrong = (
        (weights * side) @ vectors / (weights * side).sum().clamp(min=1e-8) for side in (signs > 0, signs < 0)
    )
    nearer = 2 * vectors @ (right - wrong) - right.square().sum() + wrong.square().sum()
    return signs * nearer


def _spreads(margins: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """(N,) the standard deviation of the margins of the token's side."""
    found = torch.ones_like(margins)
    for side in (signs > 0, signs < 0):
        if side.any():
            found[side] = margins[side].var(correction=0).clamp(min=1e-8).sqrt()
    return found
