"""Rows of tokens through a run's own engine, and how far its log-probabilities depend on how rows are packed.

And how a run lays sequences out, simpler layouts, and an engine that is made to use one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.utils.ulysses import set_ulysses_sequence_parallel_group

from pacs.integration.patches.registry import FORWARD_BEFORE_FUSING


@dataclass(frozen=True)
class Layout:
    """How sequences go through the model.

    Attributes:
        packed: one after another without padding.
        fused: log-probabilities by verl's fused head.
        shared: a sequence over several ranks (Ulysses).
    """

    packed: bool
    fused: bool
    shared: bool


def simpler(layout: Layout) -> Iterator[Layout]:
    """Layouts with one, two and three parts of this one left out, as far as verl has them."""
    parts = [part for part in ("fused", "packed", "shared") if getattr(layout, part)]
    for count in range(1, len(parts) + 1):
        for left_out in combinations(parts, count):
            simpler = replace(layout, **dict.fromkeys(left_out, False))
            if simpler.packed or not simpler.shared:
                yield simpler


@contextmanager
def as_laid_out(engine: Any, layout: Layout) -> Iterator[None]:
    """The engine as it would be built for `layout`, inside its mode; of the batch's settings it knows the rest."""
    shared = engine.use_ulysses_sp
    head = None if layout.fused else next((each for each in map(_unfused, engine.module.modules()) if each), None)
    if shared and not layout.shared:
        engine.use_ulysses_sp = False
        set_ulysses_sequence_parallel_group(None)
    if head is not None:
        fused, head.forward = head.forward, FORWARD_BEFORE_FUSING[head]  # type: ignore[method-assign]
    try:
        yield
    finally:
        if head is not None:
            head.forward = fused  # type: ignore[method-assign]
        if shared and not layout.shared:
            set_ulysses_sequence_parallel_group(engine.ulysses_parallel_group)
            engine.use_ulysses_sp = True


def _unfused(module: torch.nn.Module) -> type[torch.nn.Module] | None:
    """The class of a model that verl has given a fused head."""
    return next((each for each in type(module).__mro__ if each in FORWARD_BEFORE_FUSING), None)


def random_row(length: int, config: Any, generator: torch.Generator) -> torch.Tensor:
    """Random tokens (int64), less those that the model's config names: padding, images."""
    named = {value for key, value in config.to_dict().items() if key.endswith(("token_id", "token_index"))}
    vocabulary = config.get_text_config().vocab_size
    usual = torch.tensor([token for token in range(min(vocabulary, 100_000)) if token not in named])
    return usual[torch.randint(len(usual), (length,), generator=generator)]


def row_values(engine: Any, rows: Sequence[torch.Tensor], temperature: float, **settings: Any) -> list[torch.Tensor]:
    """Log-probabilities (a critic: values) of each row's tokens after the first, in float32 on the host.

    Args:
        engine: verl's, in one of its modes; every rank calls this with the same rows.
        rows: tokens (int64), each (T,).
        temperature: of the log-probabilities.
        settings: verl's of a batch: its layout and its micro-batches.
    """

    def jagged(values: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.nested.as_nested_tensor(list(values), layout=torch.jagged)

    data = TensorDict(
        {
            "input_ids": jagged(rows),
            "position_ids": jagged([torch.arange(len(row)) for row in rows]),
            "loss_mask": jagged([torch.ones_like(row) for row in rows]),
        },
        batch_size=len(rows),
    )
    tu.assign_non_tensor(data, temperature=temperature, calculate_entropy=False, force_group_size=1, **settings)
    output = engine.infer_batch(data)["model_output"]
    values = output["values"] if "values" in output else output["log_probs"]
    # The last log-probability is that of the token after the row.
    return [row[:-1].float().cpu() for row in values.unbind()]


def packing_noise(
    engine: Any, rows: Sequence[torch.Tensor], prompt_tokens: int, temperature: float
) -> dict[str, float]:
    """The log-ratio of identical weights, the same rows in one micro-batch and one in each: 0 but for rounding.

    Without rounding every token's difference d_it is 0. PACS sums a response's: what |sum_t d_it| is in nats, times
    beta, is noise in its reward proxy r_i (Eq. 7).

    Args:
        engine: verl's FSDP engine of a policy; every rank calls this with the same rows.
        rows: prompt and response (int64), each (T,).
        prompt_tokens: at the start of each row, not counted.
        temperature: of the log-probabilities.

    Returns:
        per_token: mean of |d_it|; per_response_mean and per_response_max: of |sum_t d_it|; tokens: of a response in
        the mean. In nats.
    """
    layout = {
        "use_remove_padding": bool(engine.model_config.use_remove_padding),
        "use_fused_kernels": bool(engine.model_config.use_fused_kernels),
        "use_dynamic_bsz": False,
    }
    with engine.eval_mode():
        together, alone = (
            row_values(engine, rows, temperature, micro_batch_size_per_gpu=size, max_token_len_per_gpu=None, **layout)
            for size in (len(rows), 1)
        )
    # The first of a row's values is that of its second token.
    differences = [(a - b)[prompt_tokens - 1 :].double() for a, b in zip(together, alone, strict=True)]
    sums = torch.stack([difference.sum().abs() for difference in differences])
    return {
        "per_token": float(torch.cat(differences).abs().mean()),
        "per_response_mean": float(sums.mean()),
        "per_response_max": float(sums.max()),
        "tokens": sum(map(len, differences)) / len(differences),
    }
