#!/usr/bin/env bash
# trl 1.16.0: with precompute_ref_log_probs, DPOTrainer takes reference log-probabilities from the cache that were computed with
# another max_length or ld_alpha: the second run of a sweep trains against a reference that nobody has.
#
# Guessed: reference log-probabilities are computed anew where a setting that changes them is another, so that the loss of the
# first step, at which policy and reference are one model, is log 2.
# Seen (2026-11-30, trl 1.16.0, transformers 5.10.4, datasets 5.2.0, torch 2.13.0; a Llama of one layer, eight pairs of 12 and 4
# tokens from a file): the cache goes by the tokenized dataset and the weights. Rows are cut when a batch is put together, and
# ld_alpha (the weight of the tokens of the longer response) is applied behind that, so neither is in the key. After a run with
# max_length=None, one with ld_alpha=0.0 begins with a loss of 0.01 and not of 0.69, and one that cuts rows from the left to 8
# tokens with 0.05: the policy is compared with the reference's probability of other tokens. The margins and accuracies that
# are logged are as wrong. With truncation_mode="keep_start" and a max_length it is right, by luck: a filter of long prompts
# comes before, and its key has all settings. Look whether the first loss is log 2, and delete the cache (or call
# datasets.disable_caching()) between runs with other settings.
#
#   loss of the first step:
#   max_length=None, ld_alpha=None: 0.69
#   max_length=None, ld_alpha=0.0: 0.01; on rows that were not cached: 0.69
#   max_length=8 (keep_end), ld_alpha=None: 0.05; on rows that were not cached: 0.69
#   max_length=8 (keep_start), ld_alpha=0.0: 0.69
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy trl==1.16.0 transformers==5.10.4 \
  accelerate==1.15.0 datasets==5.2.0
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/losses.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import torch
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback
from transformers.utils import logging
from trl import DPOConfig, DPOTrainer

folder = Path(sys.argv[1])
SEEN = """\
max_length=None, ld_alpha=None: 0.69
max_length=None, ld_alpha=0.0: 0.01; on rows that were not cached: 0.69
max_length=8 (keep_end), ld_alpha=None: 0.05; on rows that were not cached: 0.69
max_length=8 (keep_start), ld_alpha=0.0: 0.69"""


def rows(name):
    """Eight pairs of a long and a short response, in a file of its own."""
    found = []
    for row in range(8):
        chosen = " ".join(f"word{2 + (row + place) % 28}" for place in range(12))
        rejected = " ".join(f"word{2 + (3 * row + 2 * place) % 28}" for place in range(4))
        found.append({"prompt": f"word{2 + row} word3", "chosen": f" {chosen}", "rejected": f" {rejected}"})
    (folder / name).write_text("\n".join(json.dumps(row) for row in found))
    return str(folder / name)


def first_loss(file, **settings):
    """The loss of the first step, at which the policy is the reference."""
    words = {"<pad>": 0, "<eos>": 1} | {f"word{place}": place for place in range(2, 32)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    torch.manual_seed(0)
    sizes = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    ends = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    model = LlamaForCausalLM(LlamaConfig(num_attention_heads=2, **sizes, **ends))
    with torch.no_grad():
        model.lm_head.weight.mul_(20)
    args = DPOConfig(
        str(folder / "run"), precompute_ref_log_probs=True, max_steps=1, per_device_train_batch_size=8, logging_steps=1,
        save_strategy="no", bf16=False, gradient_checkpointing=False, report_to=[], disable_tqdm=True, use_cpu=True,
        **settings,
    )  # fmt: skip
    data = load_dataset("json", data_files=file, split="train")
    trainer = DPOTrainer(model, args=args, train_dataset=data, processing_class=tokenizer)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return f"{trainer.state.log_history[0]['loss']:.2f}"


logging.set_verbosity_error()
cached, alpha, end = rows("cached.jsonl"), rows("alpha.jsonl"), rows("end.jsonl")
lines = [f"max_length=None, ld_alpha=None: {first_loss(cached, max_length=None)}"]
for name, file, settings in (
    ("max_length=None, ld_alpha=0.0", alpha, {"max_length": None, "ld_alpha": 0.0}),
    ("max_length=8 (keep_end), ld_alpha=None", end, {"max_length": 8, "truncation_mode": "keep_end"}),
):
    line = f"{name}: {first_loss(cached, **settings)}"
    lines.append(f"{line}; on rows that were not cached: {first_loss(file, **settings)}")
lines.append(f"max_length=8 (keep_start), ld_alpha=0.0: {first_loss(cached, max_length=8, ld_alpha=0.0)}")
print("loss of the first step:")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/losses.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
