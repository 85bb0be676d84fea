"""LoRA adapters in the shards of a checkpoint, merged into the weights that they were trained beside.

The policy's layers give x W^T + (alpha / r) x A^T B^T, so that W + (alpha / r) B A is the weight of a plain model with
its logits. verl names parameters as peft's model does, and writes alpha and r beside the shards.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from pacs.base.errors import UserError
from pacs.checkpoints.merge import merge

#: Of verl: the adapters' rank and alpha.
META = "lora_train_meta.json"
_A, _B, _WRAPPED, _BASE = ".lora_A.default.weight", ".lora_B.default.weight", "base_model.model.", ".base_layer."
Shards = list[dict[str, torch.Tensor]]


@dataclass(frozen=True)
class Adapter:
    """What is added to a weight.

    Attributes:
        scale: alpha / r.
        down, up: A and B, the parts of all ranks.
    """

    scale: float
    down: Sequence[torch.Tensor]
    up: Sequence[torch.Tensor]

    @torch.no_grad()
    def merged(self, name: str, parts: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
        """The weight `name` of all ranks' parts with this added, in `dtype`; calculated in float32."""
        weight, up, down = (merge(name, each, torch.float32) for each in (parts, self.up, self.down))
        return torch.addmm(weight, up, down, alpha=self.scale).to(dtype)


def split_adapters(shards: Shards, actor: Path) -> tuple[Shards, dict[str, Adapter]]:
    """The ranks' state dicts by the names of a plain model, and the adapters by those of their weights.

    Args:
        shards: a state dict a rank.
        actor: their folder.

    Raises:
        UserError: the adapters' alpha is not known.
    """
    weights = [name.removesuffix(_A) for name in shards[0] if name.endswith(_A)]
    if not weights:
        return shards, {}
    alpha, rank = _alpha_and_rank(actor / META)
    found = {
        _plain(f"{name}.weight"): Adapter(
            scale=alpha / rank, down=[shard[name + _A] for shard in shards], up=[shard[name + _B] for shard in shards]
        )
        for name in weights
        if name + _B in shards[0]
    }
    merged = {name + end for name in weights if name + _B in shards[0] for end in (_A, _B)}
    return [{_plain(name): part for name, part in shard.items() if name not in merged} for shard in shards], found


def _plain(name: str) -> str:
    return name.removeprefix(_WRAPPED).replace(_BASE, ".")


def _alpha_and_rank(file: Path) -> tuple[int, int]:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        return int(read["lora_alpha"]), int(read["r"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{file} cannot be read, and without it the adapters' alpha and rank are not known ({error}): copy it "
            "there again, or export another checkpoint"
        ) from error
