#!/usr/bin/env bash
# transformers 5.10.4: AutoTokenizer gives a folder of a Qwen2 another tokenizer than the one that was saved there.
#
# Guessed: the tokenizer that save_pretrained has written, with its tokenizer.json and its tokenizer_class, is the one that
# AutoTokenizer.from_pretrained loads, whatever model lies beside it.
# Seen (2026-11-29, transformers 5.10.4, tokenizers 0.22.2): with "model_type": "qwen2" in config.json the class is
# Qwen2Tokenizer, whatever tokenizer_class says. It takes the vocabulary of tokenizer.json and puts its own byte-level
# pre-tokenizer in front. A tokenizer of characters then loses spaces and newlines without a word: they are other symbols
# there, which it does not have. With "qwen3" or "llama" the saved one is loaded, unless tokenizer_class names a model's own
# class (LlamaTokenizerFast beside a byte-level vocabulary: huggingface/transformers#45920). PreTrainedTokenizerFast mends
# that, and with a Qwen2 an auto_map beside it that names no code: untrusted, it has transformers take tokenizer_class at its word.
#
#   saved: [0, 3, 1, 4, 2]
#   qwen3: [0, 3, 1, 4, 2]
#   llama: [0, 3, 1, 4, 2]
#   llama, LlamaTokenizerFast: [0, 1, 4, 2]
#   llama, PreTrainedTokenizerFast: [0, 3, 1, 4, 2]
#   qwen2: [0, 1, 2]
#   qwen2, PreTrainedTokenizerFast: [0, 1, 2]
#   qwen2, PreTrainedTokenizerFast and auto_map: [0, 3, 1, 4, 2]
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 tokenizers==0.22.2
cat >"$folder/load.py" <<'PYTHON'
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models
from transformers import AutoTokenizer, PreTrainedTokenizerFast

characters = {character: number for number, character in enumerate("123 \n")}
made = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(vocab=characters, merges=[])))
text = "1 2\n3"
whole, fast = [0, 3, 1, 4, 2], {"tokenizer_class": "PreTrainedTokenizerFast"}
expected = {
    "saved": (whole, None, {}),
    "qwen3": (whole, "qwen3", {}),
    "llama": (whole, "llama", {}),
    "llama, LlamaTokenizerFast": ([0, 1, 4, 2], "llama", {"tokenizer_class": "LlamaTokenizerFast"}),
    "llama, PreTrainedTokenizerFast": (whole, "llama", fast),
    "qwen2": ([0, 1, 2], "qwen2", {}),
    "qwen2, PreTrainedTokenizerFast": ([0, 1, 2], "qwen2", fast),
    "qwen2, PreTrainedTokenizerFast and auto_map": (whole, "qwen2", fast | {"auto_map": {"AutoTokenizer": [None, None]}}),
}
differs = False
for number, (name, (tokens, kind, settings)) in enumerate(expected.items()):
    loaded = made
    if kind is not None:
        folder = Path(sys.argv[1], str(number))
        made.save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
        named = folder / "tokenizer_config.json"
        named.write_text(json.dumps(json.loads(named.read_text()) | settings))
        loaded = AutoTokenizer.from_pretrained(folder)
    found = loaded.encode(text, add_special_tokens=False)
    print(f"{name}: {found}")
    differs |= found != tokens
sys.exit(differs)
PYTHON
"$folder/venv/bin/python" "$folder/load.py" "$folder"
