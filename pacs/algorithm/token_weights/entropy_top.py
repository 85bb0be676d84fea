"""The 80/20 rule (arXiv 2506.01939): the tokens of highest entropy alone carry the gradient."""

import torch
from pydantic import Field

from pacs.algorithm.token_weights.base import Tokens, TokenWeight


class EntropyTop(TokenWeight):
    """1 for that share of the train batch's tokens whose entropy is highest, and for ties with the last, else 0."""

    #: The share of tokens that carry the gradient.
    share: float = Field(default=0.2, gt=0, lt=1, description="a share below 1; the authors use 0.2")

    @property
    def reads(self) -> tuple[str, ...]:
        """H."""
        return ("entropy",)

    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) bool."""
        entropies = tokens.streams["entropy"]
        of_all = entropies[tokens.mask]
        if len(of_all) == 0:
            return tokens.mask
        kept = max(1, round(self.share * len(of_all)))
        return entropies >= of_all.kthvalue(len(of_all) - kept + 1).values
