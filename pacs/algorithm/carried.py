"""What a method's token weight carries from one step to the next, and what is to be measured for it."""

from collections.abc import Mapping

import torch

from pacs.algorithm.era import Era
from pacs.algorithm.method import Method
from pacs.algorithm.token_weight import Memory


def remembered(
    method: Method,
    response_mask: torch.Tensor,
    row_mask: torch.Tensor,
    streams: Mapping[str, torch.Tensor],
    memory: Memory,
) -> dict[str, float]:
    """`TokenWeight.remember` of a train batch, for the `memory` of the next `batch_constants`.

    Args:
        method: with its settings.
        response_mask: (B, T) bool or number.
        row_mask: (B,) bool.
        streams: (B, T) each, those that the weight reads.
        memory: what this gave after the step before; nothing in the first step.
    """
    weight = method.token_weight.chosen
    if weight is None or not weight.REMEMBERS:
        return {}
    mask = (response_mask != 0) & row_mask[:, None]
    return weight.remember(mask, {name: torch.where(mask, streams[name], 0) for name in weight.reads}, memory)


def rank_stride(method: Method) -> int | None:
    """Tokens between the prefixes whose effective ranks are measured; None: none are.

    Those of the token weight that reads them, or else its default, where they are measured for the metrics alone.
    """
    weight = method.token_weight.chosen
    if isinstance(weight, Era):
        return weight.stride
    return None if method.metrics.effective_rank_every is None else Era().stride
