"""The two methods of GenAC: the actor's and the critic's."""

from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.aggregated import Aggregated, Aggregation
from pacs.algorithm.genac.rewards import Baseline, compared
from pacs.algorithm.rows import TrainBatch
from pacs.algorithm.vineppo import STEP, STEP_VALUE, VinePpo, step_advantages


class GenAc(VinePpo):
    """The actor: VinePPO's loss, with GAE over segments that a generative critic values."""

    #: lambda of GAE over segments. 1: r - v. 0: the next segment's v less this one's.
    lam: float = Field(default=1.0, ge=0, le=1, description="from 0 to 1; the authors use 1")

    #: PPO's, without a bound of the ratio where credit is negative.
    clip_dual: float | None = Field(default=None, gt=1, description="a ratio above 1, or null for none")

    @property
    def any_labels(self) -> bool:
        """A value is a probability, and so is what it is compared with."""
        return False

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) the advantage of each token's segment."""
        assert batch.response_mask is not None
        values = batch.streams[STEP_VALUE]
        return step_advantages(batch.labels, batch.streams[STEP], values, batch.response_mask, self.lam)


class GenAcCritic(Aggregated):
    """The critic: REINFORCE over traces, a row each, whose label is `critic_reward`.

    Traces are sampled once a step. Where the critic has changed since, each token is weighed by its importance ratio:
    in the first update of a step that is 1.
    """

    ratio: Literal["clipped", "unclipped", "none"] = "unclipped"
    #: The loss is a mean over traces of the sums of their tokens, so that no trace counts more for being short.
    aggregation: Aggregation = "seq-mean-token-sum"
    #: What a trace's reward is compared with.
    baseline: Baseline = "leave_one_out"

    @property
    def smallest_group(self) -> int:
        """It is compared with all traces of the step, whatever their groups."""
        return 1

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B,) rewards less the baseline, 0 in rows that do not count."""
        credit = torch.zeros_like(batch.labels)
        credit[batch.groups.rows] = compared(batch.labels[batch.groups.rows], self.baseline)
        return credit
