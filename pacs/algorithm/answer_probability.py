"""The mean probability of a row's marked tokens, with its gradient: what RLPR rewards, trained directly.

With r = the mean over t of pi(y*_t), reinforcement by r gives E[r grad log pi(z)] of the reasoning z, and the gradient
of E[r] has E[grad r] besides. Of an answer of one token that is r grad log pi(y*), VeriFree's term (arXiv 2505.21493).
"""

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.log_ratio import select


def mean_probabilities(log_probs: torch.Tensor, marked: torch.Tensor) -> torch.Tensor:
    """(B,) the mean of pi over each row's marked tokens, 0 of a row without one.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient.
        marked: (B, T) bool. What stands elsewhere reaches neither the mean nor its gradient.
    """
    check_shape("marked", marked, log_probs.shape)
    probabilities = select(log_probs, marked, at_least_float32(log_probs)).exp()
    return torch.where(marked, probabilities, 0).sum(dim=1) / marked.sum(dim=1).clamp(min=1)
