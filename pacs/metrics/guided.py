"""What the agent loop says of responses that were tried again with guidance."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def guided_columns(responses: Sequence[Mapping[str, Any] | None], *, guides: bool) -> dict[str, torch.Tensor]:
    """What `batch_metrics` reduces; nothing where the run tries none again.

    Args:
        responses: of each response that was tried again the number of `retries`, and whether one of them was right and
            is trained in its place (`rescued`); None of one that was not.
        guides: whether any may be.
    """
    if not guides:
        return {}
    told = [each or {"retries": 0, "rescued": False} for each in responses]
    return {name: torch.tensor([float(each[name]) for each in told]) for name in ("retries", "rescued")}


def other_tokens(responses: Sequence[Mapping[str, Any] | None]) -> int:
    """Tokens that were sampled for these responses, and are not trained."""
    return sum(int(each["tokens"]) for each in responses if each)
