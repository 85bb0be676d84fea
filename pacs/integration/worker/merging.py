"""Rows of the same tokens pass through a model once (`method.update.merge_duplicates`).

A row's log-probabilities depend on its own tokens alone, and the loss on rows only by them. So the model is given the
different rows of a micro-batch; each row then gets those of the one like it, and the loss is calculated of all rows as
ever, with its own label, credit and weights of each. Backward, the gradients of equal rows add up before they enter the
model, where they would have added up in the weights.
"""

from collections.abc import Callable
from typing import Any

import torch
from verl.utils import tensordict_utils as tu
from verl.utils.device import get_device_id

from pacs.integration.exchange import MERGED


def merge_duplicates(engine: Any) -> None:
    """Have an engine of verl's do so, in all of its passes; once."""
    verls_step = engine.forward_step
    if getattr(verls_step, "merges", False):
        return

    def forward_step(micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool) -> Any:
        kept, kind = different_rows(micro_batch["input_ids"])
        if len(kept) == len(kind) or any(tu.get(micro_batch, "multi_modal_inputs", ())):
            return verls_step(micro_batch, loss_function, forward_only)
        few, every = tu.index_select_tensor_dict(micro_batch, kept), micro_batch.to(get_device_id())
        merged = torch.ones(len(kind), dtype=torch.bool)
        merged[kept] = False
        every[MERGED] = merged.to(get_device_id())

        def loss_of_all(model_output: Any, data: Any, dp_group: Any = None) -> Any:
            assert loss_function is not None
            return loss_function(model_output=spread(model_output, kind), data=every, dp_group=dp_group)

        loss, output = verls_step(few, None if loss_function is None else loss_of_all, forward_only)
        output["model_output"] = spread(output["model_output"], kind)
        return loss, output

    forward_step.merges = True  # type: ignore[attr-defined]
    engine.forward_step = forward_step


def different_rows(tokens: torch.Tensor) -> tuple[list[int], list[int]]:
    """The first row of each kind, and of each row its kind's place among these.

    Args:
        tokens: jagged (B, T), prompts and responses.
    """
    places: dict[bytes, int] = {}
    kept: list[int] = []
    kind: list[int] = []
    for row, ids in enumerate(tokens.cpu().unbind()):
        place = places.setdefault(ids.numpy().tobytes(), len(kept))
        if place == len(kept):
            kept.append(row)
        kind.append(place)
    return kept, kind


def spread(model_output: dict[str, torch.Tensor], kind: list[int]) -> dict[str, torch.Tensor]:
    """What a model gave of the different rows, jagged (B', *), as that of all rows: jagged (B, *)."""
    rows = {name: values.unbind() for name, values in model_output.items()}
    return {
        name: torch.nested.as_nested_tensor([values[place] for place in kind], layout=torch.jagged)
        for name, values in rows.items()
    }
