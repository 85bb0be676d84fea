"""Small kernels, their bytes, and waits of one decoder layer of Qwen3's shape, counted on a CPU.

    python -m benchmarks.step.layer 0.6b 4b

In bf16 under autocast, two packed rows, flash attention stood in for; FSDP2, head and loss are not in it, and the
vocabulary is small. A layer is the difference of models of two layers and of one; its bytes a token are those of two
lengths, and so without those of weights. benchmarks/results/predicted_step.md has what was counted, and what follows.
"""

import sys
from collections import Counter
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import torch
import verl  # noqa: F401 (loads the plugin, whose patches some variants switch off)
from transformers import Qwen3Config, Qwen3ForCausalLM

from benchmarks.step.compare import switched
from benchmarks.step.counter import KernelCounter, count_compiled_kernels, stand_in_for_flash_attention
from benchmarks.step.settings import SHAPES
from benchmarks.step.variants import VARIANTS

#: Tokens of each of the two rows.
LENGTHS = (16, 32)


def count(shape: str, variant: str, layers: int) -> dict[tuple[str, int], Counter[str]]:
    """(pass or update, length) -> what `KernelCounter` finds, the second time."""
    config = Qwen3Config(**asdict(replace(SHAPES[shape].model, num_hidden_layers=layers, vocab_size=64)))
    model: Any = Qwen3ForCausalLM(config).to(torch.bfloat16).train()
    model.config._attn_implementation = "flash_attention_2"
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    part = SimpleNamespace(engine=SimpleNamespace(module=model))
    found: dict[tuple[str, int], Counter[str]] = {}
    with switched(SimpleNamespace(actor=part, ref=part), VARIANTS[variant]), torch.autocast("cpu", torch.bfloat16):
        for length in LENGTHS:
            ids = torch.randint(0, 64, (1, 2 * length))
            places = torch.arange(length).repeat(2)[None]
            for _ in range(2):
                model.zero_grad()
                with KernelCounter() as of_pass, torch.no_grad():
                    model(input_ids=ids, position_ids=places.clone(), use_cache=False)
                with KernelCounter() as of_update:
                    model(input_ids=ids, position_ids=places.clone(), use_cache=False).logits.pow(2).mean().backward()
            found |= {("pass", length): of_pass.found, ("update", length): of_update.found}
    return found


def layer(shape: str, variant: str) -> str:
    """Of a pass and of an update."""
    one, two = count(shape, variant, 1), count(shape, variant, 2)
    phases = []
    for phase in ("pass", "update"):
        few, more = ({key: two[phase, n][key] - one[phase, n][key] for key in two[phase, n]} for n in LENGTHS)
        a_token = (more["bytes"] - few["bytes"]) / (2 * (LENGTHS[1] - LENGTHS[0]))
        phases.append(f"{phase} {few['launches']} kernels, {a_token / 1024:,.0f} KiB a token, {few['waits']} waits")
    return "; ".join(phases)


def main(shapes: list[str]) -> None:
    """Print a line a shape and variant; those that compile for minutes come last."""
    torch.set_num_threads(1)
    stand_in_for_flash_attention()
    count_compiled_kernels()
    names = [name for name, variant in VARIANTS.items() if variant.entropy and not variant.liger]
    for name in sorted(names, key=lambda name: VARIANTS[name].compiled):
        for shape in shapes:
            print(f"{shape}, {name}: {layer(shape, name)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
