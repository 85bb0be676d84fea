"""TR-GRPO (arXiv 2511.00066): the likelier a token was, the more it weighs."""

from typing import Self

import torch
from pydantic import Field, model_validator

from pacs.algorithm.token_weights.base import Tokens, TokenWeight, check_ascending


class Probability(TokenWeight):
    """clip(scale * (sigmoid(pi / temperature) - offset), least, most), with the probability pi that vLLM sampled at.

    The form is the paper's; the defaults are ours: tanh(2 pi), and at least 0.2.
    """

    #: The paper's alpha; above 0.
    scale: float = Field(default=2.0, gt=0, description="a number above 0, as 2.0")
    #: The paper's tau: the lower, the sooner the weight rises; above 0.
    temperature: float = Field(default=0.25, gt=0, description="a number above 0, as 0.25")
    #: The paper's mu: 0.5 makes the weight 0 at a probability of 0, before the clip.
    offset: float = 0.5
    #: The smallest weight.
    least: float = Field(default=0.2, ge=0, description="a weight of 0 or more")
    #: The largest weight.
    most: float = Field(default=1.0, gt=0, description="a weight above 0")

    @property
    def reads(self) -> tuple[str, ...]:
        """ln pi as the engine gave it, which takes no pass."""
        return ("rollout_log_probs",)

    @model_validator(mode="after")
    def _clips_in_order(self) -> Self:
        check_ascending("probability", self, "least", "most")
        return self

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) from `least` to `most`."""
        shaped = (tokens.streams["rollout_log_probs"].exp() / self.temperature).sigmoid()
        return (self.scale * (shaped - self.offset)).clamp(self.least, self.most)
