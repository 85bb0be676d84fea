#!/usr/bin/env bash
# transformers 5.10.4: with prompt lookup, generate runs past a stop string that is not at the end of what it accepts at once;
# and without it, the end of the prompt is half of a stop string.
#
# Guessed: generation stops at the first stop string of the response; prompt lookup (prompt_lookup_num_tokens) changes the
# speed of greedy decoding and not its tokens.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, CPU; a model that says one text over and over, of one letter a token):
# stop strings are looked for at the last token alone, once for each pass of the model. A pass that accepts the stop string
# and more goes over it, and as the text repeats, so do the next ones. The end of the prompt is part of the search: behind a
# prompt that ends in a line break, the first line break of the response is the stop string "\n\n". So evaluations and
# rollouts differ by an option that is said to make them faster, the more so the more a model repeats its prompt, and a
# response may be one token long. vLLM searches the response alone, and all of it. Cut the text at the first stop string
# yourself, and do not take one that a prompt can begin.
#
#   prompt "abcdef.abcdef.ab", stop string ".": "cdef.", with prompt lookup: "cdef.abcdef.abcdef.ab"
#   the same prompt, stop string "bc": "c"
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 torch==2.13.0 numpy==2.3.5
export HF_HOME=$folder/home
cat >"$folder/stops.py" <<'PYTHON'
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

TEXT, SIZE = "abcdef.", 128
SHAPE = {
    "vocab_size": SIZE, "hidden_size": SIZE, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 32, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip


def made():
    """A model that says TEXT over and over: its layer adds nothing, its head gives the letter behind the last one."""
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3", **SHAPE, tie_word_embeddings=False)).eval()
    with torch.no_grad():
        for weight in (*model.model.layers[0].parameters(), model.lm_head.weight):
            weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(SIZE))
        for letter, following in zip(TEXT, TEXT[1:] + TEXT[0], strict=True):
            model.lm_head.weight[ord(following), ord(letter)] = 10
    return model


model = made()
letters = Tokenizer(models.WordLevel({chr(i): i for i in range(SIZE)}, unk_token=chr(0)))
letters.pre_tokenizer, letters.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=letters, pad_token=chr(0))


def response(prompt, stop, **settings):
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    settings |= {"max_new_tokens": 21, "do_sample": False, "eos_token_id": 2, "pad_token_id": 0}
    config = GenerationConfig(stop_strings=[stop], **settings)
    rows = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config, tokenizer=tokenizer)
    return tokenizer.decode(rows[0, ids.shape[1] :])


PROMPT = TEXT * 2 + "ab"
found = [response(PROMPT, "."), response(PROMPT, ".", prompt_lookup_num_tokens=10), response(PROMPT, "bc")]
print('prompt "{}", stop string ".": "{}", with prompt lookup: "{}"'.format(PROMPT, *found))
print(f'the same prompt, stop string "bc": "{found[2]}"')
sys.exit(found != ["cdef.", "cdef.abcdef.abcdef.ab", "c"])
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/stops.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
