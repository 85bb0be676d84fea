"""VinePPO (arXiv 2410.01679): a step of a response is credited with what it changes of the chance to be right.

A response is cut into steps k = 0..S-1. V_k, the value of the state before step k, is the mean reward of completions
sampled from there. With V_S = R, all tokens of step k have the advantage

    A_k = V_{k+1} - V_k,        so that a response's steps sum to R - V_0.
"""

from collections.abc import Sequence

import torch

from pacs.algorithm.aggregated import Aggregated
from pacs.algorithm.rows import TrainBatch

#: Streams: of each token the number of its step, and V of the state before that.
STEP, STEP_VALUE = "step", "step_value"


class VinePpo(Aggregated):
    """PPO's clipped loss with VinePPO's advantages; it needs `run.rollouts.vine`."""

    READS = (STEP, STEP_VALUE)

    @property
    def smallest_group(self) -> int:
        """It compares no responses."""
        return 1

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) the advantage of each token's step."""
        assert batch.response_mask is not None
        return step_advantages(batch.labels, batch.streams[STEP], batch.streams[STEP_VALUE], batch.response_mask)


def step_advantages(
    labels: torch.Tensor, steps: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """A_k of each token's step.

    Args:
        labels: (B,) R.
        steps: (B, T) the number k of each token's step, from 0, none left out.
        values: (B, T) V_k.
        mask: (B, T) bool; outside it nothing is read.

    Returns:
        (B, T) in the dtype of the labels, 0 outside the mask.
    """
    numbers = torch.where(mask, steps, 0).long()
    last = numbers.amax(dim=1, keepdim=True)
    of_steps = labels.new_zeros(len(labels), int(last.max()) + 2)
    # Tokens outside the mask write to a column of their own, which the rewards of longest responses then replace.
    of_steps.scatter_(1, torch.where(mask, numbers, of_steps.shape[1] - 1), values.to(labels.dtype))
    of_steps.scatter_(1, last + 1, labels[:, None])
    return torch.where(mask, of_steps.gather(1, numbers + 1) - of_steps.gather(1, numbers), 0)


def step_starts(texts: Sequence[str], delimiter: str, least_tokens: int, most_steps: int) -> list[int]:
    """Where the steps of a response begin.

    A step ends with the token that completes the delimiter. What comes later has no part in that: V_k would otherwise
    be a baseline that depends on the action, and bias the gradient.

    Args:
        texts: of each token of the response.
        delimiter: text that ends a step.
        least_tokens: a shorter step goes on to the next delimiter.
        most_steps: the last of so many goes on to the end.

    Returns:
        The place of each step's first token, ascending; [0] of a response in one step.
    """
    starts, text = [0], ""
    for place in range(len(texts) - 1):
        text += texts[place]
        if delimiter not in text:
            continue
        text = ""
        if len(starts) < most_steps and place + 1 - starts[-1] >= least_tokens:
            starts.append(place + 1)
    return starts
