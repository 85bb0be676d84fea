#!/usr/bin/env bash
# transformers 5.10.4: with a cache, several tokens at once get wrong logits from most models that carry a state (Mamba2,
# LFM2, Jamba, Nemotron-H, ...), and crop() takes no token back out of a state.
#
# Guessed: the cache of a prompt serves for scoring its responses: a forward pass over the rest gives the logits of one over
# the whole row, if not an error. And crop() leaves a cache as it was before the tokens that it takes away, or raises, as it
# does for sliding windows.
# Seen (2026-11-29, transformers 5.10.4, torch 2.13.0, CPU, float32; models of random weights, a row of 24 tokens, a cache of
# the first 13, no padding): the next 11 are right for attention and for the delta rule of Qwen3-Next and Qwen3.5. In seven
# other families the state is lost, or takes in one token for all: the logits are off by 0.1 to 1.4 times their own spread,
# from the first on, and nothing is said. One token at a time is right, and generate does no more than that, so samples do not
# show it. MiniMax is wrong even so, unless position_ids are given: lengths are asked of its first layer, which keeps none, so
# that each token stands at the first place. crop() cuts keys and values and leaves states alone, also in Qwen3.5; sliding
# windows raise. So score whole rows, and keep a copy (copy.deepcopy) in place of cropping. Some of it has been mended since
# (huggingface/transformers#46032, #46741).
#
#   the rest one by one, at once, and at once after four other tokens and crop():
#   qwen3: right, right, right
#   mistral: right, right, ValueError
#   qwen3_next: right, right, wrong
#   qwen3_5_text: right, right, wrong
#   lfm2: right, wrong, wrong
#   mamba2: right, wrong, wrong
#   jamba: right, wrong, wrong
#   nemotron_h: right, wrong, wrong
#   granitemoehybrid: right, wrong, wrong
#   falcon_h1: right, wrong, wrong
#   zamba2: right, wrong, wrong
#   minimax: wrong, wrong, RuntimeError
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
cat >"$folder/rest.py" <<'PYTHON'
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

BASE = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
DELTA = {
    "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "linear_key_head_dim": 16, "linear_value_head_dim": 16,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 64}
FAMILIES = {
    "qwen3": ({}, "right, right, right"),
    "mistral": ({"sliding_window": 8}, "right, right, ValueError"),
    "qwen3_next": (DELTA | EXPERTS, "right, right, wrong"),
    "qwen3_5_text": (DELTA, "right, right, wrong"),
    "lfm2": ({"layer_types": ["conv", "full_attention"]}, "right, wrong, wrong"),
    "mamba2": (
        {"num_heads": 4, "head_dim": 16, "state_size": 8, "n_groups": 1, "chunk_size": 64}, "right, wrong, wrong",
    ),
    "jamba": (
        {"mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4},
        "right, wrong, wrong",
    ),
    "nemotron_h": (
        {
            "layers_block_type": ["mamba", "attention"], "mamba_num_heads": 4, "mamba_head_dim": 16,
            "ssm_state_size": 8, "n_groups": 1, "chunk_size": 64,
        },
        "right, wrong, wrong",
    ),
    "granitemoehybrid": (
        MAMBA | {"layer_types": ["mamba", "attention"], "num_local_experts": 4, "num_experts_per_tok": 2},
        "right, wrong, wrong",
    ),
    "falcon_h1": (MAMBA | {"mamba_d_ssm": 64}, "right, wrong, wrong"),
    "zamba2": (
        {
            "layers_block_type": ["mamba", "hybrid"], "n_mamba_heads": 4, "mamba_headdim": 16, "mamba_ngroups": 1,
            "mamba_d_state": 8, "num_mem_blocks": 1, "chunk_size": 64, "attention_hidden_size": 64,
            "attention_head_dim": 32,
        },
        "right, wrong, wrong",
    ),
    "minimax": (
        {"layer_types": ["linear_attention", "full_attention"], "num_local_experts": 4},
        "wrong, wrong, RuntimeError",
    ),
}
CACHED = 13
ROW, OTHERS = torch.randint(3, 40, (2, 24), generator=torch.Generator().manual_seed(5)).split(1)


def after(model, cache, tokens):
    key = "cache_params" if "cache_params" in cache else "past_key_values"
    output = model(tokens, use_cache=True, **{key: cache[key]} if cache else {})
    for key in ("past_key_values", "cache_params"):
        if key in output and output[key] is not None:
            cache[key] = output[key]
    return output.logits


def compared(model, whole, sizes, crop=False):
    cache = {}
    try:
        after(model, cache, ROW[:, :CACHED])
        if crop:
            after(model, cache, OTHERS[:, :4])
            next(iter(cache.values())).crop(CACHED)
        rest = torch.cat([after(model, cache, part) for part in ROW[:, CACHED:].split(sizes, 1)], 1)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    return "right" if (rest - whole[:, CACHED:]).abs().max() < 1e-4 else "wrong"


torch.set_grad_enabled(False)
changed = False
for family, (settings, seen) in FAMILIES.items():
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **BASE | settings)).float().eval()
    for weights in model.parameters():
        if weights.dim() > 1:
            weights.normal_(0, 0.15)
    whole = model(ROW, use_cache=False).logits
    found = ", ".join(compared(model, whole, *how) for how in ((1,), (24,), (24, True)))
    print(f"{family}: {found}", flush=True)
    changed |= found != seen
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/rest.py" 2>/dev/null
