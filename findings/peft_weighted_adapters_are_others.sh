#!/usr/bin/env bash
# peft 0.21.2: add_weighted_adapter makes rank-stabilised adapters sqrt(r) times too strong, loses DoRA's magnitudes and LoRA's
# biases, and with PiSSA or OLoRA changes the base model under all adapters.
#
# Guessed: add_weighted_adapter(["a", "b"], [1.0, 0.0]) is adapter a, whichever kind of LoRA a and b are, or an error.
# Seen (2026-11-30, peft 0.21.2, transformers 5.10.4, torch 2.13.0; three linear layers, r=4; "linear", "cat" and "svd"): for a
# plain LoRA it is a. The new adapter gets a copy of the first one's settings and its alpha set to its rank, for a scale of 1.
# With use_rslora=True that is a scale of sqrt(rank): all of what was learnt is added 2 times, and with "cat", whose rank is the
# sum of the ranks, 2.83 times. With use_dora=True the magnitudes that were learnt are those of the base model again; with
# lora_bias=True the biases are 0 again. With init_lora_weights="pissa" or "olora" the new adapter is initialised first, which
# takes its start out of the base weights: a's own outputs change, and so do those of all other adapters and of the base. So a
# mean of runs or checkpoints is worse than each of them for no reason of theirs. Combine plain adapters only, or average the
# merged weights.
#
#   plain:
#     linear: a, 1.00 times its weights, a is as before
#     cat: a, 1.00 times its weights, a is as before
#     svd: a, 1.00 times its weights, a is as before
#   use_rslora=True:
#     linear: not a, 2.00 times its weights, a is as before
#     cat: not a, 2.83 times its weights, a is as before
#     svd: not a, 2.00 times its weights, a is as before
#   use_dora=True:
#     linear: not a, 1.00 times its weights, a is as before
#     cat: not a, 1.00 times its weights, a is as before
#     svd: not a, 1.00 times its weights, a is as before
#   lora_bias=True:
#     linear: not a, 1.00 times its weights, a is as before
#     cat: not a, 1.00 times its weights, a is as before
#     svd: not a, 1.00 times its weights, a is as before
#   init_lora_weights='pissa':
#     linear: not a, 1.00 times its weights, a has changed
#     cat: not a, 1.00 times its weights, a has changed
#     svd: not a, 1.00 times its weights, a has changed
#   init_lora_weights='olora':
#     linear: not a, 1.00 times its weights, a has changed
#     cat: not a, 1.00 times its weights, a has changed
#     svd: not a, 1.00 times its weights, a has changed
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check peft==0.21.2 transformers==5.10.4 torch==2.13.0 numpy
cat >"$folder/weighted.py" <<'PYTHON'
import sys

import torch
from peft import LoraConfig, get_peft_model

KINDS = {
    "plain": {},
    "use_rslora=True": {"use_rslora": True},
    "use_dora=True": {"use_dora": True},
    "lora_bias=True": {"lora_bias": True},
    "init_lora_weights='pissa'": {"init_lora_weights": "pissa"},
    "init_lora_weights='olora'": {"init_lora_weights": "olora"},
}
INPUT = torch.randn(8, 16, generator=torch.Generator().manual_seed(0))


def trained(kind):
    """Two adapters on one model, whose weights are moved away from where they start."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(3)))
    model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["0", "1", "2"], **kind), "a")
    model.add_adapter("b", LoraConfig(r=4, lora_alpha=8, target_modules=["0", "1", "2"], **kind))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "magnitude" in name:
                weight *= 1.3
            elif "lora_" in name:
                weight += 0.2 * torch.randn_like(weight)
    return model


def output(model, adapter):
    model.set_adapter(adapter)
    with torch.no_grad():
        return model(INPUT)


lines = []
for name, kind in KINDS.items():
    found = []
    for combination in ("linear", "cat", "svd"):
        model = trained(kind)
        before = output(model, "a")
        layer = model.base_model.model[0]
        model.add_weighted_adapter(["a", "b"], [1.0, 0.0], "sum", combination_type=combination)
        strength = (layer.get_delta_weight("sum").norm() / layer.get_delta_weight("a").norm()).item()
        same = "a" if torch.allclose(output(model, "sum"), before, atol=1e-3) else "not a"
        kept = "a is as before" if torch.allclose(output(model, "a"), before, atol=1e-3) else "a has changed"
        found.append(f"{same}, {strength:.2f} times its weights, {kept}")
    lines += [f"{name}:"] + [f"  {how}: {what}" for how, what in zip(("linear", "cat", "svd"), found, strict=True)]
SEEN = """\
plain:
  linear: a, 1.00 times its weights, a is as before
  cat: a, 1.00 times its weights, a is as before
  svd: a, 1.00 times its weights, a is as before
use_rslora=True:
  linear: not a, 2.00 times its weights, a is as before
  cat: not a, 2.83 times its weights, a is as before
  svd: not a, 2.00 times its weights, a is as before
use_dora=True:
  linear: not a, 1.00 times its weights, a is as before
  cat: not a, 1.00 times its weights, a is as before
  svd: not a, 1.00 times its weights, a is as before
lora_bias=True:
  linear: not a, 1.00 times its weights, a is as before
  cat: not a, 1.00 times its weights, a is as before
  svd: not a, 1.00 times its weights, a is as before
init_lora_weights='pissa':
  linear: not a, 1.00 times its weights, a has changed
  cat: not a, 1.00 times its weights, a has changed
  svd: not a, 1.00 times its weights, a has changed
init_lora_weights='olora':
  linear: not a, 1.00 times its weights, a has changed
  cat: not a, 1.00 times its weights, a has changed
  svd: not a, 1.00 times its weights, a has changed"""
print("\n".join(lines))
sys.exit(lines != SEEN.splitlines())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/weighted.py"
