"""VinePPO (arXiv 2410.01679): a step of a response is credited with what it changes of the chance to be right.

A response is cut into steps k = 0..S-1. V_k, the value of the state before step k, is the mean reward of completions
sampled from there. With V_S = R, all tokens of step k have the advantage

    A_k = V_{k+1} - V_k,        so that a response's steps sum to R - V_0.
"""

from collections.abc import Iterator, Sequence

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
    labels: torch.Tensor, steps: torch.Tensor, values: torch.Tensor, mask: torch.Tensor, lam: float = 0.0
) -> torch.Tensor:
    """G_k - V_k of each token's step, with G_k = (1 - lam) V_{k+1} + lam G_{k+1} and V_S = G_S = R.

    That is GAE over steps (arXiv 1506.02438) without discount: sum_l lam^l (V_{k+l+1} - V_{k+l}). At lam 0 it is A_k,
    and at 1 it is R - V_k.

    Args:
        labels: (B,) R.
        steps: (B, T) the number k of each token's step, from 0, none left out.
        values: (B, T) V_k.
        mask: (B, T) bool; outside it nothing is read.
        lam: from 0 to 1.

    Returns:
        (B, T) in the dtype of the labels, 0 outside the mask.
    """
    numbers = torch.where(mask, steps, 0).long()
    last = numbers.amax(dim=1, keepdim=True)
    of_steps = labels.new_zeros(len(labels), int(last.max()) + 2)
    # Tokens outside the mask write to a column of their own, which the rewards of longest responses then replace.
    of_steps.scatter_(1, torch.where(mask, numbers, of_steps.shape[1] - 1), values.to(labels.dtype))
    of_steps.scatter_(1, last + 1, labels[:, None])
    returns = of_steps[:, 1:].clone()
    for k in reversed(range(returns.shape[1] - 1)) if lam else ():
        inside = (1 - lam) * of_steps[:, k + 1] + lam * returns[:, k + 1]
        returns[:, k] = torch.where(k < last[:, 0], inside, returns[:, k])
    return torch.where(mask, returns.gather(1, numbers) - of_steps.gather(1, numbers), 0)


def step_streams(starts: Sequence[int], values: Sequence[float], tokens: int) -> dict[str, torch.Tensor]:
    """(T,) each of the streams of a response of so many tokens, by where its steps begin and the values before them."""
    lengths = torch.tensor([*starts[1:], tokens]) - torch.tensor(starts)
    columns = {STEP: torch.arange(len(starts)), STEP_VALUE: torch.tensor(values)}
    return {name: column.float().repeat_interleave(lengths) for name, column in columns.items()}


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
    starts = [0]
    for end in delimiter_ends(texts, delimiter):
        if len(starts) < most_steps and end - starts[-1] >= least_tokens:
            starts.append(end)
    return starts


def delimiter_ends(texts: Sequence[str], delimiter: str) -> Iterator[int]:
    """The places behind tokens that complete a delimiter, but for the response's end.

    Delimiters are looked for from the left without overlap, and a token completes one at most.

    Args:
        texts: of each token of the response.
        delimiter: what is looked for.
    """
    text = ""
    for place in range(len(texts) - 1):
        text += texts[place]
        if delimiter in text:
            text = ""
            yield place + 1
