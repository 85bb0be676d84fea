#!/usr/bin/env bash
# transformers 5.10.4: with sliding windows, generate_batch (continuous batching) gives other tokens than generate, once a row
# is longer than the window: no token sees the one before it.
#
# Guessed: continuous batching changes how requests are put together, not what the model sees: greedy tokens are those of
# generate, up to rounding.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, CPU, float32; models of random weights, a prompt of 3 tokens): so it is
# with full attention, and as long as the window holds the row. From then on Mistral, GPT-OSS and Cohere2 go other ways, with
# "eager" as well. The cache of a window is a ring, and is read from one place too far back: the token that has just left the
# window is in it, the last one before the query is not. generate with such a mask gives the same 24 tokens. Text still
# comes, so a rollout by it (trl has an option for that) looks right, and trains on samples of a policy that the trainer does
# not have: GPT-OSS's window is 128 tokens. Mended since (huggingface/transformers#47708).
#
#   equal tokens of generate_batch and generate, from the first on, of 24:
#   qwen3, no window: 24
#   mistral: window 8 6, window 64 24
#   gpt_oss: window 8 6, window 64 24
#   cohere2: window 8 6, window 64 24
#   mistral, window 8, and generate with each token's last one masked: 24
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  transformers==5.10.4 torch==2.13.0 numpy==2.3.5 psutil==7.2.2
export HF_HOME=$folder/home
cat >"$folder/windows.py" <<'PYTHON'
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

transformers.logging.set_verbosity_error()
PROMPT, NEW = [9, 8, 7], 24
SHAPE = {
    "vocab_size": 128, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "bos_token_id": 1, "eos_token_id": None,
    "pad_token_id": 0,
}  # fmt: skip
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}


def made(family, window):
    """A model whose weights are large enough to tell tokens apart."""
    torch.manual_seed(0)
    experts = EXPERTS if family == "gpt_oss" else {}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **SHAPE, **experts, sliding_window=window)).eval()
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data *= 8
    return model


def settings(**more):
    return GenerationConfig(max_new_tokens=NEW, do_sample=False, eos_token_id=-1, pad_token_id=0, **more)


def single(model):
    return model.generate(torch.tensor([PROMPT]), generation_config=settings())[0, len(PROMPT) :].tolist()


def continuous(model):
    config = settings(num_blocks=32, block_size=16, max_batch_tokens=32)
    (done,) = model.generate_batch(inputs=[PROMPT], generation_config=config, progress_bar=False).values()
    return done.generated_tokens


@torch.no_grad()
def without_the_last(model, window):
    """Greedy tokens where a generated token whose window is full sees the one that has left it in place of the last."""
    row = list(PROMPT)
    while len(row) < len(PROMPT) + NEW:
        query, key = torch.arange(len(row))[:, None], torch.arange(len(row))[None]
        right = (key <= query) & (key > query - window)
        shifted = (key == query) | ((key >= query - window) & (key < query - 1))
        seen = torch.where((query >= len(PROMPT)) & (query >= window), shifted, right)
        mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]
        row.append(model(torch.tensor([row]), attention_mask=mask).logits[0, -1].argmax().item())
    return row[len(PROMPT) :]


def equal(ours, theirs):
    return next((i for i, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]), NEW)


def compared(family, window):
    model = made(family, window)
    return equal(continuous(model), single(model))


found = {"qwen3, no window": str(compared("qwen3", None))}
for family in ("mistral", "gpt_oss", "cohere2"):
    found[family] = f"window 8 {compared(family, 8)}, window 64 {compared(family, 64)}"
model = made("mistral", 8)
found["mistral, window 8, and generate with each token's last one masked"] = str(
    equal(continuous(model), without_the_last(model, 8))
)
print("equal tokens of generate_batch and generate, from the first on, of 24:")
for what, said in found.items():
    print(f"{what}: {said}")
sys.exit(list(found.values()) != ["24", *["window 8 6, window 64 24"] * 3, "24"])
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/windows.py" 2>/dev/null
