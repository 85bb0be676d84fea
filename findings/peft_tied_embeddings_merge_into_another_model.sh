#!/usr/bin/env bash
# peft 0.21.2, transformers 5.10.4, torch 2.13.0: if a model ties embedding and head, an adapter on either one is merged into
# both.
#
# Guessed: `merge_and_unload` gives a plain model with the adapted one's logits, as it does for every other layer.
# Seen (2026-11-29, CPU, a Qwen3 of random weights, adapters of rank 4 drawn with a standard deviation of 0.3): the merged
# model's logits are off by several times their own spread. The adapted model adds the product in one layer only; merging puts
# it into the one tensor that both layers read. peft warns ("ensure_weight_tying") and goes on. Without tying, or with
# adapters on the decoder's linear layers ("all-linear" leaves the head out), the logits are equal up to rounding.
#
#   standard deviation of the difference, over that of the logits:
#   tied, embed_tokens 7.1; tied, lm_head 2.1; tied, all-linear below 1e-5; untied, each below 1e-5
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 peft==0.21.2 numpy
cat >"$folder/merge.py" <<'PYTHON'
import torch
from peft import LoraConfig, get_peft_model
from transformers import Qwen3Config, Qwen3ForCausalLM

TOKENS = torch.arange(3, 23)[None]


def off_by(tied, target):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=40, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, tie_word_embeddings=tied, initializer_range=0.12,
    )
    model = get_peft_model(Qwen3ForCausalLM(config), LoraConfig(r=4, lora_alpha=8, target_modules=target))
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = torch.randn_like(parameter) * 0.3
    with torch.no_grad():
        live = model(TOKENS).logits
        merged = model.merge_and_unload()(TOKENS).logits
    return float((merged - live).std() / live.std())


for tied in (True, False):
    for target in (["embed_tokens"], ["lm_head"], "all-linear"):
        found = off_by(tied, target)
        print(f"{'tied' if tied else 'untied'}, {target}: {found:.2g}")
        assert (found > 1) == (tied and target != "all-linear"), found
        assert found > 1 or found < 1e-5, found
PYTHON
"$folder/venv/bin/python" "$folder/merge.py"
