"""GVPO (arXiv 2504.19599): the log-ratios of a group, centred, are regressed to its centred labels."""

import torch
from pydantic import Field

from pacs.algorithm.method import Method
from pacs.algorithm.rows import Rows


class Gvpo(Method):
    """losses_i = ((r_i - r-bar) - (R_i - q))^2 / (2 (G-1)), with r_i = beta * log-ratio and q the group's mean label.

    The reference may be any policy: with `reference.reset_every` of 1, the default, it is the one that sampled. At the
    residual's zero the policy is the reference, tilted by e^(R/beta).
    """

    #: Scale of the log-ratio; above 0.
    beta: float = Field(default=0.1, gt=0, description="the authors use 0.1")

    @property
    def any_labels(self) -> bool:
        """They enter as numbers, less their mean."""
        return True

    @property
    def smallest_group(self) -> int:
        """A response by itself is its own mean."""
        return 2

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) squares. That the mean carries the gradient changes nothing: a group's residuals sum to 0."""
        groups = rows.groups
        residuals = groups.center(self.beta * rows.log_ratios - rows.labels)
        return residuals.square() / (2 * (groups.of_rows(groups.sizes) - 1).clamp(min=1))
