#!/usr/bin/env bash
# transformers 5.10.4: with scaled dot-product attention, GLM-5 (glm_moe_dsa) and Doge let tokens see later ones; GPT-OSS and
# Trinity (afmoe) let packed rows see each other.
#
# Guessed: a causal model is causal with each attention that it claims to support; and position_ids separate packed rows, as
# in Llama or Qwen3.
# Seen (2026-11-27, transformers 5.10.4, torch 2.13.0, CPU, float32; models of random weights): where nothing is padded the
# library makes no mask for "sdpa", and asks sdpa to be causal instead. GLM-5 and Doge replace that by a mask of their own,
# built from the missing one: all tokens see all. With "eager" they are causal. GPT-OSS and Trinity make their masks without
# position_ids: each packed row sees those before it. Llama does neither.
#
#   llama: sdpa causal, eager causal, packed rows apart
#   glm_moe_dsa: sdpa sees later tokens, eager causal, packed rows apart
#   doge: sdpa sees later tokens, eager causal, packed rows apart
#   gpt_oss: eager causal, packed rows mixed
#   afmoe: sdpa causal, eager causal, packed rows mixed
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 numpy
cat >"$folder/masks.py" <<'PYTHON'
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "moe_intermediate_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16, "num_local_experts": 4, "num_experts": 4,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "head_dim": 8,
    "n_shared_experts": 1, "mlp_layer_types": ["dense", "sparse"], "index_head_dim": 16, "index_n_heads": 4,
    "indexer_types": ["full", "full"],
}
KINDS = {"layer_types": ["sliding_attention", "full_attention"]}
MORE = {"glm_moe_dsa": LATENT, "gpt_oss": KINDS, "afmoe": KINDS}
SEEN = {
    "llama": "sdpa causal, eager causal, packed rows apart",
    "glm_moe_dsa": "sdpa sees later tokens, eager causal, packed rows apart",
    "doge": "sdpa sees later tokens, eager causal, packed rows apart",
    "gpt_oss": "eager causal, packed rows mixed",
    "afmoe": "sdpa causal, eager causal, packed rows mixed",
}


def logits(model, *rows):
    """Of the last row, packed after the others."""
    positions = torch.cat([torch.arange(len(row)) for row in rows])[None]
    return model(torch.cat(rows)[None], position_ids=positions, use_cache=False).logits[0, -len(rows[-1]) :]


torch.set_grad_enabled(False)
changed = False
for kind, seen in SEEN.items():
    found, config = [], AutoConfig.for_model(kind, **SIZES | MORE.get(kind, {}))
    for attention in ("eager",) if kind == "gpt_oss" else ("sdpa", "eager"):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).float().eval()
        for parameter in model.parameters():
            parameter.normal_(0, 0.15) if parameter.dim() > 1 else parameter.add_(0.1)
        row, other = torch.arange(3, 27), torch.arange(30, 40)
        causal = (logits(model, row)[:10] - logits(model, row[:10])).abs().max() < 1e-4
        found.append(f"{attention} {'causal' if causal else 'sees later tokens'}")
    apart = (logits(model, other, row) - logits(model, row)).abs().max() < 1e-4
    found.append(f"packed rows {'apart' if apart else 'mixed'}")
    print(f"{kind}: {', '.join(found)}")
    changed |= ", ".join(found) != seen
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/masks.py" 2>/dev/null
