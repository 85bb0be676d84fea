"""LoRA in the laboratory: a product of two low-rank matrices is trained beside each linear weight of the decoder.

As with peft: W + (alpha / r) B A, where B begins as 0 and A is drawn as the weight of torch's own linear layer is.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize
from transformers import PreTrainedModel

from pacs.base.errors import UserError

KEYS = ("rank", "alpha")


def check(adapters: Mapping[str, Any]) -> None:
    """Raise UserError unless they are none ({}), or have a rank and an alpha."""
    if adapters and sorted(adapters) != sorted(KEYS):
        raise UserError(f"adapters={dict(adapters)}: write them like {{rank: 8, alpha: 16}}, or {{}} for none")
    for name, value in adapters.items():
        if type(value) is not int or value < 1:
            raise UserError(f"adapters.{name}={value!r} must be a whole number of at least 1")


def adapt(policy: PreTrainedModel, adapters: Mapping[str, Any], seed: int) -> None:
    """Train these in place of the weights, of which none changes from now on.

    Args:
        policy: changed in place; each `weight` of the decoder's linear layers is the sum from now on.
        adapters: rank and alpha; {}: the policy is left as it is.
        seed: of the draws.
    """
    if not adapters:
        return
    policy.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for layer in policy.base_model.modules():
        if isinstance(layer, nn.Linear):
            parametrize.register_parametrization(
                layer, "weight", Adapter(layer.weight, **adapters, generator=generator)
            )


class Adapter(nn.Module):
    """What is added to a weight (rows, columns)."""

    def __init__(self, weight: torch.Tensor, rank: int, alpha: int, generator: torch.Generator) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.scale = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, columns))
        self.up = nn.Parameter(torch.zeros(rows, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5), generator=generator)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """The sum."""
        return torch.addmm(weight, self.up, self.down, alpha=self.scale)
