"""REAL (arXiv 2602.05630): a group's right responses are to score above zero, and its wrong ones below."""

from typing import Literal

import torch
from pydantic import Field

from pacs.algorithm.class_balance import Objective
from pacs.algorithm.method import OfMixedGroups
from pacs.algorithm.pacs import Pacs
from pacs.algorithm.rows import Rows
from pacs.algorithm.scores import Estimator


class RealBce(Pacs):
    """REAL with binary cross-entropy, which is PACS with other settings: beta = 1/tau, of each response by itself."""

    beta: float = Field(default=2.0, gt=0, description="the authors use 2.0, a temperature of 0.5")
    estimator: Estimator = "none"
    objective: Objective = "pass_rate"
    normalize_by_length: bool = True
    single_class_groups: Literal["keep", "drop"] = "drop"


class Real(OfMixedGroups):
    """losses_i = log(1 + sum_right e^(-s/tau)) + log(1 + sum_wrong e^(s/tau)), alike in all G rows of a group.

    s is the log-ratio a token to the policy that sampled, so that `reference.reset_every` is 1. Groups of one class are
    left out.
    """

    #: The temperature tau of the scores; above 0.
    tau: float = Field(default=0.5, gt=0, description="the authors use 0.5")

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,): each row has its group's."""
        scores = rows.log_ratios / rows.lengths.clamp(min=1) / self.tau
        right = rows.labels == 1
        of_right, of_wrong = rows.groups.logsumexp(-scores, right), rows.groups.logsumexp(scores, ~right)
        zero = torch.zeros_like(of_right)
        return rows.groups.of_rows(torch.logaddexp(zero, of_right) + torch.logaddexp(zero, of_wrong))
