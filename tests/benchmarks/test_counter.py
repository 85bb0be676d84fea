"""Kernels are counted as they are launched, and a step's variants are switched on and off again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: A model of one and of three layers, packed rows, in a process of its own: other code's functions are replaced.
PROGRAM = """
import json, torch, verl
from types import SimpleNamespace
from transformers import Qwen3Config, Qwen3ForCausalLM
from benchmarks.step.compare import switched
from benchmarks.step.counter import KernelCounter, count_compiled_kernels, stand_in_for_flash_attention
from benchmarks.step.variants import VARIANTS

with KernelCounter() as plain:
    x = torch.ones(8, requires_grad=True)
    (x * 2).view(2, 4).sum().item()
print("says plain=" + json.dumps(plain.found))

stand_in_for_flash_attention()
count_compiled_kernels()
def kernels(name, layers):
    torch.manual_seed(0)
    shape = dict(hidden_size=32, intermediate_size=64, num_attention_heads=2, num_key_value_heads=1, head_dim=16)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=64, num_hidden_layers=layers, **shape)).train()
    model.config._attn_implementation = "flash_attention_2"
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    engine = SimpleNamespace(module=model)
    worker = SimpleNamespace(actor=SimpleNamespace(engine=engine), ref=SimpleNamespace(engine=engine))
    ids, places = torch.arange(3, 33)[None], torch.cat([torch.arange(11), torch.arange(19)])[None]
    counter = KernelCounter()
    with switched(worker, VARIANTS[name]):
        for _ in range(2):
            counter.found.clear()
            model.zero_grad()
            with counter:
                model(input_ids=ids, position_ids=places + 0, use_cache=False).logits.pow(2).mean().backward()
    gradient = torch.cat([each.grad.flatten() for each in model.parameters()])
    return counter.found, gradient

_, expected = kernels("default", 3)
for name in ("before", "default", "not checkpointed", "compiled", "default"):
    (few, _), (more, gradient) = kernels(name, 1), kernels(name, 3)
    layer = {what: (more[what] - few[what]) / 2 for what in ("launches", "bytes", "waits", "all products")}
    far = float((gradient - expected).abs().max() / expected.abs().max())
    print(f"says {name}=" + json.dumps(layer | {"exact": far < 1e-5}))
"""


@pytest.mark.long
def test_what_is_counted_of_a_layer() -> None:
    env = os.environ | {"VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    lines = [line.removeprefix("says ").partition("=") for line in result.stdout.splitlines() if line[:5] == "says "]
    found = {name: json.loads(text) for name, _, text in lines}
    # ones, its product, its sum; 8 float32 numbers written, read and written, read and one written.
    assert found.pop("plain") == {"launches": 3, "bytes": 4 * (8 + 16 + 9), "waits": 1}
    assert [name for name, layer in found.items() if not layer["exact"]] == []
    before, default, kept, compiled = (found[name] for name in ("before", "default", "not checkpointed", "compiled"))
    assert before["waits"] == 8
    assert default["waits"] == 0
    assert before["launches"] > default["launches"]
    # Seven matrices, forward, again but for the last, and two gradients each; a pass less where nothing is done again.
    assert (default["all products"], kept["all products"]) == (27, 21)
    assert kept["bytes"] < default["bytes"]
    assert compiled["launches"] < 0.25 * default["launches"]
    assert compiled["bytes"] < 0.4 * default["bytes"]
