#!/usr/bin/env bash
# transformers 5.10.4: RoPE of the types "longrope" and "dynamic" makes a row's logits depend on the other rows, and "dynamic"
# on rows of earlier calls too.
#
# Guessed: a padded row has the logits that it has alone; and "dynamic", whose code claims to reset for short sequences, does
# reset.
# Seen (2026-11-27, transformers 5.10.4, torch 2.13.0, CPU, float32; a model of random weights, original length 16): the
# logits of a row of 10 tokens change if a row of 24 is in its batch, but not with one of 16. After such a batch "longrope"
# gives the row alone its first logits again. "dynamic" keeps the stretched frequencies for good: the length that it compares
# with is read under one name and written under another.
#
#   longrope: beside a row of 16 equal, beside a row of 24 other, alone afterwards equal
#   dynamic: beside a row of 16 equal, beside a row of 24 other, alone afterwards other
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
cat >"$folder/rows.py" <<'PYTHON'
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Phi3Config, Phi3ForCausalLM

ORIGINAL, SHORT, LONG = 16, 10, 24
SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
LENGTH = {"original_max_position_embeddings": ORIGINAL}
FACTORS = {"short_factor": [1.0] * 8, "long_factor": [4.0] * 8} | LENGTH
MODELS = {
    "longrope": (Phi3ForCausalLM, Phi3Config, FACTORS, {"max_position_embeddings": 64} | LENGTH),
    "dynamic": (LlamaForCausalLM, LlamaConfig, {"factor": 4.0}, {"max_position_embeddings": ORIGINAL}),
}
SEEN = {"longrope": ("equal", "other", "equal"), "dynamic": ("equal", "other", "other")}


def logits(model, row, longest):
    """Of the row, beside another one of so many tokens."""
    tokens = torch.randint(3, 64, (2, longest), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(tokens)
    tokens[0, : len(row)], mask[0, len(row) :] = row, 0
    return model(tokens, attention_mask=mask).logits[0, : len(row)]


torch.manual_seed(0)
torch.set_grad_enabled(False)
row, changed = torch.randint(3, 64, (SHORT,)), False
for kind, (model_class, config_class, rope, more) in MODELS.items():
    parameters = {"rope_type": kind, "rope_theta": 10000.0} | rope
    model = model_class(config_class(**SIZES, **more, rope_parameters=parameters)).eval()
    alone = model(row[None]).logits[0]
    cases = (logits(model, row, ORIGINAL), logits(model, row, LONG), model(row[None]).logits[0])
    found = tuple("equal" if (case - alone).abs().max() < 2e-6 else "other" for case in cases)
    print(f"{kind}: beside a row of {ORIGINAL} {found[0]}, beside a row of {LONG} {found[1]}, alone afterwards {found[2]}")
    changed |= found != SEEN[kind]
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/rows.py" 2>/dev/null
