#!/usr/bin/env bash
# transformers 5.10.4: generate_batch (continuous batching) samples num_return_sequences responses and returns one; it does
# not know stop_strings, min_new_tokens and num_beams, and says nothing.
#
# Guessed: what a GenerationConfig holds is kept as generate keeps it, or refused.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, CPU; a model that says one text over and over, of one letter a token):
# with num_return_sequences=4 it draws 4 responses for a prompt, and its dictionary has the first of them. A response runs on
# past its stop string, where generate stops (and refuses stop_strings without a tokenizer), and ends before min_new_tokens.
# The log has no word of any of this. So pass@4 is that of one sample, a few-shot prompt is answered together with the next
# questions that the model makes up, and rollouts of two ways to call one model differ. Repeat the prompts yourself, cut the
# text yourself, and compare one batch with generate.
#
#   num_return_sequences=4, responses of 2 prompts: generate 8, generate_batch 2
#   stop_strings, generate: cdef.
#   stop_strings, generate_batch: cdef.abcdef.abcdef.a
#   min_new_tokens=8, generate: cdefabcdef., generate_batch: cdef.
#   num_beams=2 with num_return_sequences=2, responses of 2 prompts: generate 4, generate_batch 2
#   warnings: none
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  transformers==5.10.4 torch==2.13.0 numpy==2.3.5 psutil==7.2.2
export HF_HOME=$folder/home
cat >"$folder/settings.py" <<'PYTHON'
import logging
import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

TEXT, SIZE, END = "abcdef.", 128, ord(".")
SHAPE = {
    "vocab_size": SIZE, "hidden_size": SIZE, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 32, "bos_token_id": 1, "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip


def made():
    """A model that says TEXT over and over: its layer adds nothing, its head gives the letter behind the last one."""
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3", **SHAPE, tie_word_embeddings=False)).eval()
    head = torch.zeros(SIZE, SIZE)
    for letter, following in zip(TEXT, TEXT[1:] + TEXT[0], strict=True):
        head[ord(following), ord(letter)] = 10
    head[ord("a"), ord("f")] = 5  # where the model may not end
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(SIZE) * 10)
        model.model.layers[0].self_attn.o_proj.weight.zero_()
        model.model.layers[0].mlp.down_proj.weight.zero_()
        model.lm_head.weight.copy_(head)
    return model


class Kept(logging.Handler):
    """Keeps what is logged as a warning or worse."""

    said = ()

    def emit(self, record):
        if record.levelno >= logging.WARNING:
            self.said += (record.getMessage(),)


kept = Kept()
transformers.logging.add_handler(kept)
logging.getLogger("ContinuousBatchingLogger").addHandler(kept)
model = made()
letters = Tokenizer(models.WordLevel({chr(i): i for i in range(SIZE)}, unk_token=chr(0)))
letters.pre_tokenizer, letters.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, pad_token=chr(0))
PROMPTS = ["ab", "ef"]


def said(tokens):
    return "".join(map(chr, tokens))


def responses(batch, eos_token_id=None, **settings):
    eos_token_id = -1 if batch and eos_token_id is None else eos_token_id
    settings = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0, "eos_token_id": eos_token_id} | settings
    ids = [[ord(letter) for letter in prompt] for prompt in PROMPTS]
    if batch:
        config = GenerationConfig(**settings, num_blocks=64, block_size=16, max_batch_tokens=64)
        done = model.generate_batch(ids, config, progress_bar=False, warmup=False)
        return [said(response.generated_tokens) for response in done.values()]
    rows = torch.tensor(ids)
    out = model.generate(
        rows, attention_mask=torch.ones_like(rows), generation_config=GenerationConfig(**settings), tokenizer=tokenizer
    )
    return [said(row[2:]).rstrip("\0") for row in out.tolist()]


several = {"num_return_sequences": 4, "do_sample": True}
beams = {"num_beams": 2, "num_return_sequences": 2}
counts = [len(responses(batch, **settings)) for settings in (several, beams) for batch in (False, True)]
stopped = [responses(batch, stop_strings=["."])[0] for batch in (False, True)]
shortest = [responses(batch, eos_token_id=END, min_new_tokens=8)[0] for batch in (False, True)]
print(f"num_return_sequences=4, responses of 2 prompts: generate {counts[0]}, generate_batch {counts[1]}")
print("stop_strings, generate:", stopped[0])
print("stop_strings, generate_batch:", stopped[1])
print(f"min_new_tokens=8, generate: {shortest[0]}, generate_batch: {shortest[1]}")
print(f"num_beams=2 with num_return_sequences=2, responses of 2 prompts: generate {counts[2]}, generate_batch {counts[3]}")
print("warnings:", *kept.said or ["none"])
same = counts == [8, 2, 4, 2] and stopped == ["cdef.", "cdef.abcdef.abcdef.a"] and not kept.said
sys.exit(not (same and shortest == ["cdefabcdef.", "cdef."]))
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/settings.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
