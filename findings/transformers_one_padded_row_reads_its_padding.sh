#!/usr/bin/env bash
# transformers 5.10.4: in a batch of one row, Qwen3-Next, Qwen3.5, OLMo hybrid, LFM2, Mamba2, Bamba, Falcon-H1 and Granite
# take padding on the left into their state; in a batch of two they do not.
#
# Guessed: a row that is padded on the left has the logits that it has alone, in a batch of any size, since the attention mask
# says where it begins; a model with a state either heeds the mask or does not.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, CPU, float32; models of random weights, a row of 14 tokens behind 5 of
# padding, with the padding token's embedding that of another token, as in trained models): the layers with a state set what
# is padded to 0, but only if the mask has more than one row. Alone, the same row has other logits: they differ by up to once
# their own spread. Nemotron-H, Zamba2 and MiniMax heed the mask in each batch, recurrent Gemma in none. So log-probabilities
# depend on the size of the micro-batch, and the last one of a step can be wrong by itself. A test shows nothing if the
# padding token's embedding is 0, as a new model's is. Padding on the right does no harm, and is what verl 0.9.1 uses in
# training; prompts that are padded on the left and then split into rows are hit (huggingface/transformers#46773).
#
#   the padded row's logits in a batch of two, and in one of one:
#   right, right: qwen3, nemotron_h, zamba2, minimax
#   right, wrong: qwen3_next, qwen3_5_text, olmo_hybrid, lfm2, mamba2, bamba, falcon_h1, granitemoehybrid
#   wrong, wrong: recurrent_gemma
#   wrong where it is padded on the right: none
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
export HF_HOME=$folder/home
cat >"$folder/rows.py" <<'PYTHON'
import inspect
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
TOKENS, PADDING = 14, 5
SHAPE = {
    "vocab_size": 128, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 32}
DELTA = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32}
FEW = {"num_local_experts": 2, "num_experts_per_tok": 1}
FAMILIES = {
    "qwen3": {},
    "nemotron_h": {
        "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8, "n_groups": 1, "chunk_size": 32,
        "hybrid_override_pattern": "M*M-",
    },
    "zamba2": {
        "n_mamba_heads": 8, "mamba_d_state": 8, "mamba_headdim": 16, "mamba_ngroups": 1, "chunk_size": 32,
        "layers_block_type": ["mamba", "hybrid", "mamba", "mamba"], "num_mem_blocks": 1, "use_mem_rope": True,
        "attention_head_dim": 32,
    },
    "minimax": FEW | {"layer_types": ["linear_attention", "full_attention"] * 2, "block_size": 32},
    "qwen3_next": DELTA | EXPERTS,
    "qwen3_5_text": DELTA,
    "olmo_hybrid": {},
    "lfm2": {"layer_types": ["conv", "full_attention", "conv", "conv"]},
    "mamba2": {"num_heads": 8, "state_size": 8, "n_groups": 1, "expand": 2, "chunk_size": 32},
    "bamba": MAMBA | {"attn_layer_indices": [1]},
    "falcon_h1": MAMBA | {"mamba_d_ssm": 128},
    "granitemoehybrid": MAMBA | FEW | {"layer_types": ["mamba", "attention"] * 2, "shared_intermediate_size": 32},
    "recurrent_gemma": {"lru_width": 64, "attention_window_size": 32},
}  # fmt: skip


@torch.no_grad()
def rights(family):
    """Whether a padded row's logits are its own: in a batch of two, in one of one, and there padded on the right."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **SHAPE, **FAMILIES[family])).eval()
    embeddings = model.get_input_embeddings().weight
    embeddings[0] = embeddings[1]
    for weight in model.parameters():
        if weight.dim() > 1:
            weight *= 2
    row = torch.randint(3, 128, (1, TOKENS))
    alone = model(row).logits[0]
    takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def right(rows, left):
        padding = torch.zeros(1, PADDING, dtype=torch.long)
        mask = torch.cat([padding, torch.ones_like(row)] if left else [torch.ones_like(row), padding], 1)
        places = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0).repeat(rows, 1)} if takes_positions else {}
        padded = torch.cat([padding, row] if left else [row, padding], 1).repeat(rows, 1)
        logits = model(padded, attention_mask=mask.repeat(rows, 1), **places).logits[0]
        own = logits[PADDING:] if left else logits[:TOKENS]
        return bool((own - alone).std() < 1e-3 * alone.std())

    return right(2, left=True), right(1, left=True), right(1, left=False)


found = {family: rights(family) for family in FAMILIES}
print("the padded row's logits in a batch of two, and in one of one:")
lines = {}
for two, one in ((True, True), (True, False), (False, False)):
    lines[two, one] = [family for family, right in found.items() if right[:2] == (two, one)]
    print(", ".join("right" if right else "wrong" for right in (two, one)) + ":", ", ".join(lines[two, one]))
print("wrong where it is padded on the right:", ", ".join(family for family in found if not found[family][2]) or "none")
names = list(FAMILIES)
seen = {(True, True): names[:4], (True, False): names[4:12], (False, False): names[12:]}
sys.exit(lines != seen or not all(right[2] for right in found.values()))
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/rows.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
