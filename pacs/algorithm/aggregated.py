"""GRPO, Dr. GRPO, RLOO and DAPO as verl 0.9.1 has them: their tokens' losses are summed up in three ways."""

from typing import Annotated, Literal

import torch
from pydantic import Field

from pacs.algorithm import advantages
from pacs.algorithm.groups import Groups
from pacs.algorithm.policy_gradient import ComparedInGroup, importance_ratios
from pacs.algorithm.rows import TrainBatch

#: What the tokens' losses are summed up to, by verl's names.
Aggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]


class Aggregated(ComparedInGroup):
    """A policy gradient that says what the sum of its tokens' losses over a mini-batch is divided by."""

    #: clipped: rho is PPO's clipped importance ratio. unclipped: the importance ratio as it is. none: there is no
    #: ratio, rho is log pi_theta and the gradient REINFORCE's, whoever sampled.
    ratio: Literal["clipped", "unclipped", "none"] = "clipped"
    #: token-mean: by the mini-batch's tokens. seq-mean-token-sum: by its responses. seq-mean-token-sum-norm: by its
    #: responses times `max_response_tokens`.
    aggregation: Aggregation = "token-mean"
    #: The most tokens that a response may have, for seq-mean-token-sum-norm: ${data.max_response_length} in a run.
    max_response_tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="a whole number of tokens, as ${data.max_response_length}"
    )

    @property
    def any_labels(self) -> bool:
        """They are compared with the group's, as rewards are."""
        return True

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """rho of each token, up to a constant."""
        if self.ratio == "none":
            return log_ratios
        if self.ratio == "unclipped":
            return importance_ratios(log_ratios)
        return super().token_objective(log_ratios, credit)

    def shares(self, lengths: torch.Tensor, active: Groups) -> torch.Tensor:
        """(B,) by `aggregation`.

        Raises:
            ValueError: `max_response_tokens` is needed and not set.
        """
        if self.aggregation == "token-mean":
            return torch.where(active.rows, lengths.double(), 0)
        each = 1
        if self.aggregation == "seq-mean-token-sum-norm":
            if self.max_response_tokens is None:
                raise ValueError(
                    "method.aggregation=seq-mean-token-sum-norm needs method.max_response_tokens: set it to "
                    "${data.max_response_length}"
                )
            each = self.max_response_tokens
        return active.rows.double() * each


class Grpo(Aggregated):
    """GRPO (arXiv 2402.03300)."""

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) (R - q)/(s + 1e-6)."""
        return advantages.normalized(batch.labels, batch.groups)


class Dapo(Grpo):
    """DAPO (arXiv 2503.14476): GRPO with a wider clip for what grows."""

    clip_high: float = Field(default=0.28, ge=0, description="0.28 lets it grow by a quarter")
    clip_dual: float | None = Field(default=10.0, gt=1, description="a ratio above 1, or null for none")


class DrGrpo(Aggregated):
    """Dr. GRPO (arXiv 2503.20783): no response counts less for being long."""

    aggregation: Aggregation = "seq-mean-token-sum-norm"

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) R - q."""
        return advantages.centered(batch.labels, batch.groups)


class Rloo(Aggregated):
    """RLOO (arXiv 2402.14740)."""

    aggregation: Aggregation = "seq-mean-token-sum"

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) R less the mean label of the rest."""
        return advantages.leave_one_out(batch.labels, batch.groups)
