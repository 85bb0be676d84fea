"""ERA (VERL, arXiv 2509.23808): what explores or exploits, by the ranks of its hidden states, is worth more."""

from typing import ClassVar, Literal

import torch
from pydantic import Field

from pacs.algorithm.effective_rank import growth
from pacs.algorithm.token_weight import Advantages, Memory, Streams, TokenWeight

NAMES = ("rank", "velocity", "acceleration")
_BASELINES = tuple(f"era_{name}" for name in NAMES)


class Era(TokenWeight):
    """A'/A, with A' = A + min(relu Phi, |A| / cut), Phi = t tanh(rank) + (1 - t) tanh(velocity) of each response.

    Here rank, velocity and acceleration are relative to their baselines, exponential means over steps that begin with
    the first step's: clamp((x - mu)/|mu|, -5, 5). t = sigmoid(gain acceleration). In the first step the weight is 1.
    """

    READS = ("effective_rank",)
    BY_ADVANTAGES: ClassVar[bool] = True
    REMEMBERS: ClassVar[tuple[str, ...]] = _BASELINES
    stride: int = Field(default=40, ge=2, description="a whole number of tokens, of at least 2; the authors use 40")
    ema: float = Field(default=0.3, gt=0, le=1, description="a share above 0, of 1 at most; the authors use 0.3")
    gain: float = Field(default=2.0, ge=0, description="a number of 0 or more; the authors use 2.0")
    cut: float = Field(default=2.0, ge=1, description="a number of at least 1; the authors use 2.0")
    #: The tokens whose weight it is: of the whole response, as the paper has it, or the last, as its code has it.
    tokens: Literal["all", "last"] = "all"

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) from 1 - 1/cut to 1 + 1/cut."""
        baselines = [streams[name] for name in _BASELINES]
        if any(bool(mu.isnan()) for mu in baselines):
            return torch.ones_like(mask)
        relative = [
            ((x - mu) / (mu.abs() + 1e-8)).clamp(-5, 5)
            for x, mu in zip(growth(streams["effective_rank"], mask, self.stride), baselines, strict=True)
        ]
        t = (self.gain * relative[2]).sigmoid()
        bonus = (t * relative[0].tanh() + (1 - t) * relative[1].tanh()).clamp(min=0)[:, None]
        given = advantages()
        share = torch.minimum(bonus / given.abs().clamp(min=1e-12), torch.ones_like(given) / self.cut)
        if self.tokens == "last":
            places = mask.cumsum(dim=1)
            share = torch.where(places == places[:, -1:], share, 0)
        return torch.where(given != 0, 1 + given.sign() * share, 1)

    def remember(self, mask: torch.Tensor, streams: Streams, memory: Memory) -> dict[str, float]:
        """The baselines after this step: (1 - ema) mu + ema (the mean over its responses that have a token)."""
        there = mask.any(dim=1)
        if not there.any():
            return dict(memory)
        means = [float(x[there].mean()) for x in growth(streams["effective_rank"], mask, self.stride)]
        known = zip(_BASELINES, means, strict=True)
        return {name: self.ema * mean + (1 - self.ema) * memory.get(name, mean) for name, mean in known}
