"""Policy gradients: credit times PPO's clipped importance ratio, and the methods that differ in their credit alone."""

import torch
from pydantic import Field

from pacs.algorithm import advantages
from pacs.algorithm.method import Method, OfMixedGroups
from pacs.algorithm.rows import Rows, TrainBatch

#: A log-ratio of a token enters rho at most, and at least, as this; as verl has it.
LARGEST_LOG_RATIO = 20.0


def importance_ratios(log_ratios: torch.Tensor) -> torch.Tensor:
    """rho = e^d of log-ratios d, which count as at most, and at least, `LARGEST_LOG_RATIO`."""
    return log_ratios.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()


class PolicyGradient(Method):
    """losses_i = -sum_t A_it min(rho_t, 1 + clip_high), of advantages A_it that are never negative.

    rho_t is the ratio of a token to the policy that sampled, so that `reference.reset_every` is 1. In the first update
    of a step rho is 1, and the gradient is REINFORCE's. A subclass gives the A by `credit`.
    """

    #: rho of what is credited counts as at most 1 and this.
    clip_high: float = Field(default=0.2, ge=0, description="0.2 lets it grow by a fifth")

    @property
    def compares_with_sampler(self) -> bool:
        """Its ratios are importance ratios."""
        return True

    @property
    def tokenwise(self) -> bool:
        """Each token has a ratio of its own."""
        return True

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """rho, clipped where more of it would raise the objective no further."""
        return importance_ratios(log_ratios).clamp(max=1 + self.clip_high)

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) -sum_t A_it `token_objective`, times coefficients where a subclass has them."""
        assert rows.token_sums is not None
        return -rows.coefficients * rows.token_sums


class ClippedBothWays(PolicyGradient):
    """losses_i = -sum_t min(A_it rho_t, A_it clip(rho_t)), at least A_it * clip_dual where A_it is negative."""

    #: rho of a token of negative credit counts as at least 1 less this.
    clip_low: float = Field(default=0.2, ge=0, lt=1, description="a share below 1, as 0.2")
    #: rho of a token of negative credit counts as at most this; None (null) has no such bound.
    clip_dual: float | None = Field(default=3.0, gt=1, description="a ratio above 1, or null for none")

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """rho, clipped on the side on which more of it would raise the objective no further."""
        of_wrong = importance_ratios(log_ratios).clamp(min=1 - self.clip_low, max=self.clip_dual)
        return torch.where(credit < 0, of_wrong, super().token_objective(log_ratios, credit))


class Raft(PolicyGradient):
    """RAFT++ (arXiv 2504.11343): right responses alone are trained on."""

    @property
    def soft_labels(self) -> bool:
        """They enter as numbers."""
        return True

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) R."""
        return advantages.label(batch.labels, batch.groups)


class PassAtK(PolicyGradient):
    """Pass@k training, as verl's estimator grpo_passk: A = (best label - second best)/s of a group's best response.

    That is the response that is right alone, where s is sqrt(1/G). With more right responses the group would be solved
    without each of them, and there is no gradient.
    """

    #: Divide by the standard deviation.
    normalize_by_std: bool = True

    @property
    def smallest_group(self) -> int:
        """A best and a second best."""
        return 2

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) advantages."""
        scale = batch.groups.of_rows(batch.groups.sizes).to(batch.labels.dtype).sqrt() if self.normalize_by_std else 1.0
        return scale * advantages.only_right_one(batch.labels, batch.groups)


class ReinforceRej(OfMixedGroups, ClippedBothWays):
    """Reinforce-Rej (arXiv 2504.11343): REINFORCE without baseline, on groups of both classes; the others are left out.

    (As shipped, the authors' labels of 0 and 1 give wrong responses no gradient; the paper's text has -1.)
    """

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) 2R - 1."""
        return advantages.signed_label(batch.labels, batch.groups)


class ComparedInGroup(ClippedBothWays):
    """A policy gradient whose credit is a comparison with the labels of the group."""

    @property
    def soft_labels(self) -> bool:
        """They enter as numbers."""
        return True

    @property
    def smallest_group(self) -> int:
        """A response by itself is its own mean."""
        return 2


class MaxRl(ComparedInGroup):
    """MaxRL (arXiv 2602.02710): the expected update climbs the log of the pass rate as the group grows.

    The theorem of the paper has an order of G; every public code, and this one, one less, since a group without a right
    response has no gradient.
    """

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) (R - q)/q."""
        return advantages.by_pass_rate(batch.labels, batch.groups)
