"""STEER (arXiv 2510.10150): tokens whose update would change the entropy most weigh least."""

import math
from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.token_weights.base import Tokens, TokenWeight

#: The largest |Omega| of a batch counts as at least this.
FLOOR = 0.02


class Steer(TokenWeight):
    """lambda = e^(-k |Omega|), k = -ln(least) / max(max |Omega|, 0.02), with the maximum over the train batch.

    Omega is what a token's update is taken to change the entropy H by; A is the token's advantage:

        public   A (1 - pi) (ln pi + H): the authors' code where pi is pi_old (its maximum is over a micro-batch)
        exact    -A (f - sum_k pi_k f_k), f = pi (ln pi + H): dH of a step along A d ln pi / d logits, to first order

    The sum over the vocabulary is the stream `mean_entropy_slope`.
    """

    NEEDS_ADVANTAGES = True

    #: What Omega is: public or exact.
    form: Literal["public", "exact"] = "public"
    #: The smallest weight, which the token of the largest |Omega| has.
    least: float = Field(default=0.8, gt=0, lt=1, description="a weight below 1; the authors use 0.8")

    @property
    def reads(self) -> tuple[str, ...]:
        """ln pi and H; for `exact` the sum as well."""
        return ("old_log_probs", "entropy", *(("mean_entropy_slope",) if self.form == "exact" else ()))

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) from `least` to 1."""
        assert tokens.advantages is not None
        log_probs = tokens.streams["old_log_probs"]
        surplus, probabilities = log_probs + tokens.streams["entropy"], log_probs.exp()
        change = (1 - probabilities) * surplus
        if self.form == "exact":
            change = probabilities * surplus - tokens.streams["mean_entropy_slope"]
        sizes = torch.where(tokens.mask, (tokens.advantages * change).abs(), 0)
        return (math.log(self.least) * sizes / sizes.max().clamp(min=FLOOR)).exp()
