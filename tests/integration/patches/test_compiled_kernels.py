"""A run that asks for compiled kernels has them in its model, and the gradient that it had."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import torch, verl
from transformers import Qwen3Config, Qwen3ForCausalLM
from verl.models.transformers.monkey_patch import apply_monkey_patch
from verl.utils.import_utils import import_external_libs

config = Qwen3Config(
    hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    head_dim=16, vocab_size=99,
)
torch.manual_seed(0)
model = Qwen3ForCausalLM(config).train()
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

def gradient(tokens):
    model.zero_grad()
    model(input_ids=torch.arange(tokens)[None] + 3, use_cache=False).logits.pow(2).mean().backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()])

before = [gradient(tokens) for tokens in (40, 33)]
import_external_libs("pacs.integration.patches.compiled_kernels")  # as verl's model config does
apply_monkey_patch(model, use_remove_padding=True)
after = [gradient(tokens) for tokens in (40, 33)]
far = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(after, before))
found = torch._dynamo.utils.counters
print(f"says {far < 1e-5} {found['stats']['unique_graphs'] > 0} {len(found['graph_break'])}")
"""


@pytest.mark.slow
@pytest.mark.long
def test_compiled_kernels_have_the_same_gradient_at_every_length() -> None:
    env = os.environ | {"VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    (said,) = [line for line in result.stdout.splitlines() if line[:5] == "says "]
    assert said == "says True True 0"
