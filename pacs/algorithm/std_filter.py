"""Groups whose rewards hardly differ are left out of the update, by RLPR's measure of what is usual (arXiv 2506.18254).

m is a moving average over steps of the mean standard deviation of a step's groups. A group is left out whose own is
below `share` times the m of the steps before. The standard deviations of all groups enter m, of those left out, too.
"""

import torch

from pacs.algorithm.groups import Groups


def group_stds(rewards: torch.Tensor, groups: Groups) -> torch.Tensor:
    """(K,) unbiased standard deviation of each group's (B,) rewards; NaN of fewer than two rows."""
    squares = groups.sum(groups.center(rewards.double()).square())
    return torch.where(groups.sizes > 1, squares / (groups.sizes - 1).clamp(min=1), torch.nan).sqrt()


class StdFilter:
    """What is usual, and which groups of a step are kept.

    Args:
        share: of m, below which a group is left out.
        decay: of m; its first value is that of the first step.
        first_step: in which groups are left out.

    Attributes:
        usual: m; None before the first step.
    """

    def __init__(self, share: float, decay: float, first_step: int) -> None:
        self.share, self.decay, self.first_step = share, decay, first_step
        self.usual: float | None = None

    def keep(self, step: int, stds: torch.Tensor) -> torch.Tensor:
        """(K,) bool, the groups of a step that are kept, for their (K,) standard deviations; then learn from these.

        A group of one response is kept. Where all would be left out, those that differ most are kept.
        """
        kept = torch.ones_like(stds, dtype=torch.bool)
        known = stds[stds.isfinite()]
        if self.usual is not None and step >= self.first_step:
            kept = ~(stds < self.share * self.usual)
            if not kept.any():
                kept = stds == stds.max()
        if len(known):
            mean = float(known.mean())
            self.usual = mean if self.usual is None else self.decay * self.usual + (1 - self.decay) * mean
        return kept
