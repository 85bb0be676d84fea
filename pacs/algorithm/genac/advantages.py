"""GAE over segments: how much of an outcome each segment is credited with."""

from collections.abc import Sequence

import torch

from pacs.algorithm.vineppo import STEP, STEP_VALUE, step_advantages

__all__ = ["STEP", "STEP_VALUE", "segment_gae", "step_advantages"]


def segment_gae(values: Sequence[float] | torch.Tensor, outcome: float, lam: float = 1.0) -> torch.Tensor:
    """(S,) A_k = sum_l lam^l (v_{k+l+1} - v_{k+l}), with v_S = r and no discount: float64.

    At lam 1 it is r - v_k, and at 0 it is v_{k+1} - v_k, VinePPO's.

    Args:
        values: (S,) of a response's segments.
        outcome: r.
        lam: from 0 to 1.
    """
    known = torch.as_tensor(values, dtype=torch.float64)[None]
    labels, steps = known.new_tensor([outcome]), torch.arange(known.shape[1])[None]
    return step_advantages(labels, steps, known, torch.ones_like(known, dtype=torch.bool), lam)[0]
