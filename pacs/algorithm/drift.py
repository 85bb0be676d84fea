"""A term of the loss for single tokens: how far they have come from the policy that sampled them."""

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.log_ratio import select


def drift_penalty(
    log_probs: torch.Tensor, sampler: torch.Tensor, mask: torch.Tensor, penalties: torch.Tensor | None
) -> torch.Tensor:
    """sum_it c_it |log pi_theta - log pi_sampler|, to be divided by N: any split of a mini-batch is exact.

    Its gradient is c times the sign of the log-ratio, and 0 where both agree: in a first update.

    Args:
        log_probs: (B, T), with gradient.
        sampler: (B, T), a constant.
        mask: (B, T) bool or number, the response's tokens.
        penalties: (B, T) c; a token of 0 has no influence, whatever it holds. None: 0 everywhere.

    Returns:
        0-dimensional, float32 or float64.
    """
    dtype = at_least_float32(log_probs, sampler)
    if penalties is None:
        return torch.zeros((), dtype=dtype, device=log_probs.device)
    check_shape("penalties", penalties, log_probs.shape)
    chosen = (mask != 0) & (penalties != 0)
    ratios = select(log_probs, chosen, dtype) - select(sampler.detach(), chosen, dtype)
    return (torch.where(chosen, penalties, 0).to(dtype) * ratios.abs()).sum()
