#!/usr/bin/env bash
# peft 0.21.2: an adapter is saved without the layers whose number is the name of another adapter.
#
# Guessed: save_pretrained saves each adapter of a model with all of its layers, whatever the adapters are called.
# Seen (2026-11-30, peft 0.21.2, transformers 5.10.4, torch 2.13.0; a small Llama of 4 layers, LoRA on q_proj): of the weights
# of one adapter those are left out whose name has the name of another adapter between two dots, and model.layers.1.q_proj is
# such a name if the other one is "1". So with adapters "0" to "3", as for the members of a population or the rounds of a
# league, each is saved with one layer of four, its own number's; get_peft_model_state_dict, which sends the weights to an
# engine, gives as little. Saving says nothing. Loading warns in peft; an engine that takes layers without an adapter as they
# are does not see it. Names like "round-1" are safe.
#
#   adapters round-0, round-1:
#     round-0: saved 0, 1, 2, 3; state dict 0, 1, 2, 3; 0 warnings
#     round-1: saved 0, 1, 2, 3; state dict 0, 1, 2, 3; 0 warnings
#   adapters 0, 1:
#     0: saved 0, 2, 3; state dict 0, 2, 3; 0 warnings
#     1: saved 1, 2, 3; state dict 1, 2, 3; 0 warnings
#   adapters 0, 1, 2, 3:
#     0: saved 0; state dict 0; 0 warnings
#     1: saved 1; state dict 1; 0 warnings
#     2: saved 2; state dict 2; 0 warnings
#     3: saved 3; state dict 3; 0 warnings
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check peft==0.21.2 transformers==5.10.4 torch==2.13.0 numpy
export HF_HUB_OFFLINE=1
cat >"$folder/layers.py" <<'PYTHON'
import re
import sys
import warnings
from pathlib import Path

from peft import LoraConfig, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

SIZE = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4}


def layers(weights):
    return ", ".join(sorted({re.search(r"layers\.(\d+)\.", name)[1] for name in weights}))


def saved(names, folder):
    """The layers that each adapter is saved with, and that its state dict has; and whether saving warns."""
    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=4, **SIZE))
    model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"]), names[0])
    for name in names[1:]:
        model.add_adapter(name, LoraConfig(r=2, target_modules=["q_proj"]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.save_pretrained(folder)
    for name in names:
        files = load_file(Path(folder) / name / "adapter_model.safetensors")
        sent = get_peft_model_state_dict(model, adapter_name=name)
        yield f"{name}: saved {layers(files)}; state dict {layers(sent)}; {len(said)} warnings"


lines = []
for names in (["round-0", "round-1"], ["0", "1"], ["0", "1", "2", "3"]):
    lines.append(f"adapters {', '.join(names)}:")
    lines += [f"  {line}" for line in saved(names, f"{sys.argv[1]}/{'_'.join(names)}")]
SEEN = """\
adapters round-0, round-1:
  round-0: saved 0, 1, 2, 3; state dict 0, 1, 2, 3; 0 warnings
  round-1: saved 0, 1, 2, 3; state dict 0, 1, 2, 3; 0 warnings
adapters 0, 1:
  0: saved 0, 2, 3; state dict 0, 2, 3; 0 warnings
  1: saved 1, 2, 3; state dict 1, 2, 3; 0 warnings
adapters 0, 1, 2, 3:
  0: saved 0; state dict 0; 0 warnings
  1: saved 1; state dict 1; 0 warnings
  2: saved 2; state dict 2; 0 warnings
  3: saved 3; state dict 3; 0 warnings"""
print("\n".join(lines))
sys.exit(lines != SEEN.splitlines())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/layers.py" "$folder/out"
