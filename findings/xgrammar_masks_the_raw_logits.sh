#!/usr/bin/env bash
# xgrammar 0.2.8, transformers 5.10.4: xgrammar's LogitsProcessor masks generate's output_logits, too, which are those of the
# model otherwise; with a repetition_penalty it does not.
#
# Guessed: output_logits are the logits of the model whatever processors there are, and output_scores those that tokens are
# drawn from, as transformers says.
# Seen (2026-11-30, xgrammar 0.2.8, transformers 5.10.4, torch 2.13.0, CPU; a model that gives each of 128 tokens the same
# probability, a grammar of digits): the processor writes -inf into the tensor that generate keeps as its raw logits. A
# processor that comes before it, as that of repetition_penalty, makes a copy, and the raw logits are raw again. So
# log-probabilities of a rollout under a grammar, taken from output_logits as those of the policy, are those of the masked
# distribution: with a trainer's own they give ratios that are no policy's, the entropy is too low, and the share that the
# model gives to text outside the grammar, which one may want to watch, is 0. prefix_allowed_tokens_fn keeps them. Give the
# processor a copy: lambda ids, scores: processor(ids, scores.clone()).
#
#   log-probability of the digit by output_logits, and finite logits of 128
#   no grammar: -4.85, 128
#   grammar: -2.30, 10
#   grammar and repetition_penalty=1.1: -4.85, 128
#   grammar on a copy: -4.85, 128
#   prefix_allowed_tokens_fn: -4.85, 128
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-tvm-ffi==0.1.15.post2 pydantic==2.14.3 \
  numpy==2.3.5 transformers==5.10.4 torch==2.13.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps xgrammar==0.2.8
export HF_HOME=$folder/home
cat >"$folder/logits.py" <<'PYTHON'
import sys

import torch
import xgrammar
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
from xgrammar.contrib.hf import LogitsProcessor

SIZE = 128
DIGITS = [ord(digit) for digit in "0123456789"]
SHAPE = {
    "vocab_size": SIZE, "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip

model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3", **SHAPE, tie_word_embeddings=False)).eval()
model.lm_head.weight.data.zero_()
kind = xgrammar.VocabType.RAW
vocabulary = xgrammar.TokenizerInfo([chr(i) for i in range(SIZE)], vocab_type=kind, vocab_size=SIZE, stop_token_ids=[2])
grammar = xgrammar.GrammarCompiler(vocabulary).compile_regex("[0-9]+")


def looked_at(processor=None, repetition_penalty=1.0, **arguments):
    ids = torch.tensor([[ord("a")]])
    config = GenerationConfig(
        max_new_tokens=1, do_sample=True, top_k=0, repetition_penalty=repetition_penalty, eos_token_id=2, pad_token_id=0,
        return_dict_in_generate=True, output_logits=True,
    )  # fmt: skip
    processors = [processor] if processor else []
    out = model.generate(ids, generation_config=config, logits_processor=processors, **arguments)
    (logits,) = out.logits[0]
    return f"{logits.log_softmax(0)[out.sequences[0, -1]]:.2f}, {int(logits.isfinite().sum())}"


of_copies = LogitsProcessor(grammar)
found = {
    "no grammar": looked_at(),
    "grammar": looked_at(LogitsProcessor(grammar)),
    "grammar and repetition_penalty=1.1": looked_at(LogitsProcessor(grammar), repetition_penalty=1.1),
    "grammar on a copy": looked_at(lambda ids, scores: of_copies(ids, scores.clone())),
    "prefix_allowed_tokens_fn": looked_at(prefix_allowed_tokens_fn=lambda row, ids: DIGITS),
}
print("log-probability of the digit by output_logits, and finite logits of 128")
for case, values in found.items():
    print(f"{case}: {values}")
sys.exit(list(found.values()) != ["-4.85, 128", "-2.30, 10", "-4.85, 128", "-4.85, 128", "-4.85, 128"])
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/logits.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
