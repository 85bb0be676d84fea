"""What is known of the turns of a response: of its mask, and what the agent loop says of its tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch


@dataclass(frozen=True)
class Turns:
    """Of a response.

    Attributes:
        last: the token at which the last turn that the policy wrote begins.
        turns: that the policy wrote.
        calls: of tools.
        failed: calls that no tool answered: an unknown name, arguments that are none, an exception of the tool.
        cut: the response has ended before the policy would have: within a turn, or with a call that got no answer.
    """

    last: int
    turns: int
    calls: int = 0
    failed: int = 0
    cut: bool = False


def turns_of(mask: Sequence[int], said: Mapping[str, Any]) -> Turns:
    """The turns of a response.

    Args:
        mask: 1 at the tokens that the policy wrote.
        said: by the agent loop: fields of `Turns`, as far as it knows them.
    """
    begins = [token for token, (before, now) in enumerate(pairwise((0, *mask))) if now and not before]
    return Turns(**{"last": begins[-1] if begins else 0, "turns": len(begins), **said})


def turn_columns(responses: Sequence[Mapping[str, Any] | None]) -> dict[str, torch.Tensor]:
    """What `batch_metrics` reduces; nothing where no response says anything of its turns.

    Args:
        responses: `Turns` of each as a dict; None of one that had one turn and no tool.
    """
    if not any(responses):
        return {}
    each = [Turns(**said) if said else Turns(last=0, turns=1) for said in responses]
    return {
        name: torch.tensor([float(getattr(turns, name)) for turns in each])
        for name in ("turns", "calls", "failed", "cut")
    }
