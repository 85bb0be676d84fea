"""PPO's clipped surrogate with an advantage a response, which a subclass takes from the labels of its group."""

import torch
from pydantic import Field

from pacs.algorithm.method import Method, Rows

#: A log-ratio of a token enters rho at most, and at least, as this; as verl has it.
LARGEST_LOG_RATIO = 20.0


class Clipped(Method):
    """losses_i = -A_i sum_t min(rho_t, 1 + clip_high), of advantages A_i that are never negative.

    rho_t is the ratio of a token to the policy that sampled, so that `reference.reset_every` is 1. In the first update
    of a step rho is 1, and the gradient is REINFORCE's. `weights` are the A_i.
    """

    #: rho of a right response counts as at most 1 and this.
    clip_high: float = Field(default=0.2, ge=0, description="0.2 lets it grow by a fifth")

    @property
    def compares_with_sampler(self) -> bool:
        """Its ratios are importance ratios."""
        return True

    @property
    def tokenwise(self) -> bool:
        """Each token has a ratio of its own."""
        return True

    def token_values(self, log_ratios: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """rho, clipped where more of it would raise the objective no further."""
        return _ratios(log_ratios).clamp(max=1 + self.clip_high)

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) -A_i sum_t `token_values`."""
        assert rows.token_sums is not None
        return -rows.weights * rows.token_sums


class ClippedBothWays(Clipped):
    """losses_i = -sum_t min(A_i rho_t, A_i clip(rho_t)), at least A_i * clip_dual where A_i is negative."""

    #: rho of a wrong response counts as at least 1 less this.
    clip_low: float = Field(default=0.2, ge=0, lt=1, description="a share below 1, as 0.2")
    #: rho of a wrong response counts as at most this; None (null) has no such bound.
    clip_dual: float | None = Field(default=3.0, gt=1, description="a ratio above 1, or null for none")

    def token_values(self, log_ratios: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """rho, clipped on the side on which more of it would raise the objective no further."""
        of_wrong = _ratios(log_ratios).clamp(min=1 - self.clip_low, max=self.clip_dual)
        return torch.where(weights < 0, of_wrong, super().token_values(log_ratios, weights))


def _ratios(log_ratios: torch.Tensor) -> torch.Tensor:
    return log_ratios.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
