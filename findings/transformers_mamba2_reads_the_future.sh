#!/usr/bin/env bash
# transformers 5.10.4: without the mamba kernels, nemotron_h and zamba2 let later tokens change the logits of earlier ones, in
# rows longer than one chunk. mamba2, bamba, falcon_h1 and granitemoehybrid do not.
#
# Guessed: six families with the same Mamba2 layer have the same fallback in plain torch, slow and causal.
# Seen (2026-11-27, transformers 5.10.4, torch 2.13.0, CPU, float32; one Mamba2 layer of random weights, chunks of 8 tokens, a
# row of 24): if the last token is replaced, the 23 logits before it do not change for four families. For nemotron_h and
# zamba2 those from the second chunk on change, by up to 0.19 and 0.05, where the logits' standard deviation is 1.6. The state
# that a chunk begins with is multiplied by a sum over the chunks after it instead of those before: it reads ahead, and
# forgets all but the previous chunk. So a log-probability in training belongs to no policy that a sampler could have had. A
# row of one chunk is right, and so is a test of short rows; published configs have chunks of 128 or 256 tokens.
#
#   mamba2: chunk 1 equal, chunk 2 equal, chunk 3 equal
#   bamba: chunk 1 equal, chunk 2 equal, chunk 3 equal
#   falcon_h1: chunk 1 equal, chunk 2 equal, chunk 3 equal
#   granitemoehybrid: chunk 1 equal, chunk 2 equal, chunk 3 equal
#   nemotron_h: chunk 1 equal, chunk 2 other, chunk 3 other
#   zamba2: chunk 1 equal, chunk 2 other, chunk 3 other
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
cat >"$folder/chunks.py" <<'PYTHON'
import sys

import torch
import transformers

CHUNK, ROW = 8, 24
BASE = {"vocab_size": 64, "hidden_size": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
LAYER = BASE | {"intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2}
ONE = {"num_hidden_layers": 1}
SHORT = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "mamba_chunk_size": CHUNK}
LONG = {"mamba_num_heads": 8, "mamba_head_dim": 8, "n_groups": 1, "ssm_state_size": 8, "chunk_size": CHUNK}
ZAMBA = {"n_mamba_heads": 8, "mamba_headdim": 8, "mamba_ngroups": 1, "mamba_d_state": 8, "chunk_size": CHUNK}
FAMILIES = {
    "mamba2": ("Mamba2", BASE | ONE | {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8, "chunk_size": CHUNK}),
    "bamba": ("Bamba", LAYER | ONE | SHORT | {"attn_layer_indices": []}),
    "falcon_h1": ("FalconH1", LAYER | ONE | SHORT | {"head_dim": 16, "mamba_d_ssm": 64}),
    "granitemoehybrid": (
        "GraniteMoeHybrid",
        LAYER | ONE | SHORT | {"layer_types": ["mamba"], "num_local_experts": 0, "shared_intermediate_size": 32},
    ),
    "nemotron_h": ("NemotronH", LAYER | LONG | {"layers_block_type": ["mamba"], "head_dim": 16}),
    "zamba2": ("Zamba2", LAYER | ONE | ZAMBA | {"layers_block_type": ["mamba"], "num_mem_blocks": 1, "use_mem_rope": False}),
}
READS_AHEAD = {"nemotron_h", "zamba2"}

torch.set_grad_enabled(False)
changed = False
for family, (name, config) in FAMILIES.items():
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(**config)).eval()
    for key, weights in model.named_parameters():
        if key.endswith("dt_bias"):
            weights.fill_(-3.0)  # a state that lasts longer than a chunk
        elif key.endswith("A_log"):
            weights.zero_()
        elif weights.dim() > 1:
            weights.normal_(0, 0.3)
    row = torch.randint(3, 64, (1, ROW))
    other = row.clone()
    other[0, -1] = 3 if row[0, -1] != 3 else 4
    gaps = (model(row, use_cache=False).logits - model(other, use_cache=False).logits)[0, :-1].abs().amax(-1)
    found = ["equal" if gap.max() < 1e-5 else "other" for gap in gaps.split(CHUNK)]
    print(f"{family}: " + ", ".join(f"chunk {number} {state}" for number, state in enumerate(found, 1)))
    changed |= found != (["equal", "other", "other"] if family in READS_AHEAD else ["equal"] * 3)
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/chunks.py" 2>/dev/null
