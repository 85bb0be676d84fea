"""Effective ranks of hidden states, where verl's pass of log pi_old makes them: ranks leave the worker, not states."""

from collections.abc import Callable
from typing import Any

import torch
from verl.utils import tensordict_utils as tu

from pacs.algorithm.effective_rank import prefix_ranks
from pacs.integration.exchange import RANKS

#: Ends of the names of the module whose output is the last hidden state.
FINAL_NORMS = (
    "model.norm", "model.norm_f", "model.final_norm", "model.final_layernorm", "model.embedding_norm",
    "transformer.ln_f", "gpt_neox.final_layer_norm",
)  # fmt: skip


def rank_hidden_states(engine: Any, stride: int) -> None:
    """Once: have an engine of verl's give `prefix_ranks` of each response in passes that give the entropy alone.

    A response's states are those that its tokens were drawn from, so that a rank stands where the log-probability of
    the prefix's last token does.

    Raises:
        ValueError: the model has no final norm of a known name.
    """
    verls_step = engine.forward_step
    if getattr(engine, "gives_ranks", False):
        return
    norm = final_norm(engine.module)

    def forward_step(micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool) -> Any:
        if not forward_only or not tu.get(micro_batch, "calculate_entropy", False):
            return verls_step(micro_batch, loss_function, forward_only)
        states: list[torch.Tensor] = []
        handle = norm.register_forward_hook(lambda module, given, made: states.append(made.detach()))
        try:
            loss, output = verls_step(micro_batch, loss_function, forward_only)
        finally:
            handle.remove()
        output["model_output"][RANKS] = ranks_of(states[-1], micro_batch, stride)
        return loss, output

    engine.forward_step, engine.gives_ranks = forward_step, True


def final_norm(module: torch.nn.Module) -> torch.nn.Module:
    """The module whose output is the last hidden state.

    Raises:
        ValueError: there is none of a known name, or there are several.
    """
    found = [part for name, part in module.named_modules() if name.endswith(FINAL_NORMS)]
    if len(found) != 1:
        raise ValueError(
            f"effective ranks need the model's last hidden state, but of the modules that it ends in "
            f"({', '.join(FINAL_NORMS)}) there are {len(found)}: use another method.token_weight.name than era and "
            "leave method.metrics.effective_rank_every out with this model."
        )
    norm: torch.nn.Module = found[0]
    return norm


def ranks_of(states: torch.Tensor, micro_batch: Any, stride: int) -> torch.Tensor:
    """Jagged (B, prompt and response), from states packed as (1, tokens, H), or padded on the right as (B, S, H)."""
    sequences, masks = micro_batch["input_ids"], micro_batch["response_mask"].cpu().unbind()
    lengths = sequences.offsets().diff().tolist()
    if len(states) == len(lengths):
        rows = [row[:length] for row, length in zip(states, lengths, strict=True)]
    else:
        rows = list(states[0, : sum(lengths)].split(lengths))
    found = []
    for row, mask in zip(rows, masks, strict=True):
        ranks = torch.zeros(len(row))
        first = len(row) - len(mask) - 1
        places = first + (mask != 0).nonzero()[:, 0]
        ranks[places] = prefix_ranks(row[places.to(row.device)], stride).cpu()
        found.append(ranks)
    return torch.nested.as_nested_tensor(found, layout=torch.jagged).to(states.device)
