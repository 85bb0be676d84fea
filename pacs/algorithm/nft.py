"""NFT (arXiv 2505.18116): wrong responses are learnt from by the policy that is left without the right ones."""

from typing import Literal

import torch

from pacs.algorithm.method import OfMixedGroups
from pacs.algorithm.rows import Rows, TrainBatch

#: rho of a wrong response is at most e to this, in nats.
LARGEST_LOG_RATIO = 10.0
#: q is taken as at least and at most this.
PASS_RATES = (0.02, 0.98)


class Nft(OfMixedGroups):
    """losses_i = -(1-q) log rho_i of right responses, -(1-q) log max(1, (1 - q rho_i)/(1-q)) of wrong ones.

    rho is the ratio to the policy that sampled (`reference.reset_every` is 1), of each token, whose losses are summed,
    or of the whole response; q is the group's pass rate. Where the maximum is 1 the gradient is that without it, as in
    the authors' code. Groups of one class are left out.
    """

    #: What rho is the ratio of: token (the authors' default) or sequence.
    ratio: Literal["token", "sequence"] = "token"

    @property
    def tokenwise(self) -> bool:
        """With the ratio of each token."""
        return self.ratio == "token"

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) R - q, the effective advantage where policy and reference agree."""
        active = batch.groups
        pass_rates = active.sum(batch.labels) / active.sizes.clamp(min=1)
        return torch.where(active.rows, batch.labels - active.of_rows(pass_rates.clamp(*PASS_RATES)), 0)

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """log rho of right responses; of wrong ones -((1-q)/q) log max(1, (1 - q rho)/(1-q)), whose q is -credit.

        As the authors' code has it, log rho is no more than `LARGEST_LOG_RATIO` in both.
        """
        right = credit >= 0
        q = torch.where(right, 0.5, -credit)
        bounded = log_ratios.clamp(max=LARGEST_LOG_RATIO)
        left = (1 - q * bounded.exp()) / (1 - q)
        at_least_one = left + (left.clamp(min=1) - left).detach()
        return torch.where(right, bounded, -(1 - q) / q * at_least_one.log())

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) -(R - q) times the sum of `token_objective`, or its value at the response's ratio."""
        if rows.token_sums is not None:
            return -rows.coefficients * rows.token_sums
        assert rows.credit is not None
        objective = self.token_objective(rows.log_ratios[:, None], rows.credit[:, None])[:, 0]
        return -rows.coefficients * rows.credit * objective
