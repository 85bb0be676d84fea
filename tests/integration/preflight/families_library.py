"""The gradient of a family in a layout without verl's worker: the library's model, with rows laid out as verl does it.

Seconds for a family, where the worker takes minutes; what FSDP2, micro-batches and ranks do is left out.
"""

import contextlib
import io
from typing import Any

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING
from verl.models.transformers.monkey_patch import patch_forward_with_backends

from tests.integration.preflight.families import attention_of, tiny_config, tiny_model
from tests.integration.preflight.families_case import CONFIG, LAYOUTS, ROWS, TEMPERATURE, reference_log_probs
from tests.integration.worker.worker_case import Row, loss_of


def library_gradient(family: str, layout: str) -> dict[str, torch.Tensor]:
    """Of Eq. 8 over all rows, the first in a micro-batch of its own, where nothing is padded; by parameter."""
    packed, fused = LAYOUTS[layout]
    model = tiny_model(family).train()
    if fused:
        model = _with_fused_head(model, family)
    rows = [row for row in ROWS if row.uid is not None]
    log_probs = [
        values for micro_batch in (rows[:1], rows[1:]) for values in _log_probs(model, micro_batch, packed, fused)
    ]
    loss_of(log_probs, [reference_log_probs(row) for row in rows], rows, CONFIG).backward()
    return {name: value.grad for name, value in model.named_parameters() if value.grad is not None}


def _with_fused_head(model: Any, family: str) -> Any:
    """The same weights in a class of its own, which verl's patch changes for good."""
    kind = MODEL_FOR_CAUSAL_LM_MAPPING[type(model.config)]
    own: Any = type(kind.__name__, (kind,), {"__module__": kind.__module__})
    fused = own._from_config(tiny_config(family), attn_implementation=attention_of(family)).float().train()
    fused.load_state_dict(model.state_dict())
    with contextlib.redirect_stdout(io.StringIO()):
        patch_forward_with_backends(fused, use_fused_kernels=True, fused_kernels_backend="torch")
    return fused


def _log_probs(model: Any, rows: list[Row], packed: bool, fused: bool) -> list[torch.Tensor]:
    """log pi of each row's response."""
    tokens = [torch.tensor(row.prompt + row.response) for row in rows]
    lengths = [len(each) for each in tokens]
    positions = [torch.arange(length) for length in lengths]
    if packed:
        given = {"input_ids": torch.cat(tokens)[None], "position_ids": torch.cat(positions)[None]}
    else:
        given = {
            "input_ids": torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True),
            "attention_mask": torch.nn.utils.rnn.pad_sequence([torch.ones_like(each) for each in tokens], True),
            "position_ids": torch.nn.utils.rnn.pad_sequence(positions, batch_first=True),
        }
    if fused:
        found = model(**given, use_cache=False, return_dict=True, temperature=TEMPERATURE).log_probs
    else:
        logits = model(**given, use_cache=False).logits / TEMPERATURE
        found = logits.log_softmax(-1).gather(-1, given["input_ids"].roll(-1, -1)[..., None])[..., 0]
    each = found[0].split(lengths) if packed else [found[i, :length] for i, length in enumerate(lengths)]
    return [values[len(row.prompt) - 1 : -1] for values, row in zip(each, rows, strict=True)]
