#!/usr/bin/env bash
# transformers 5.10.4: decode(skip_special_tokens=True) drops tokens that all_special_tokens does not list.
#
# Guessed: the special tokens are skipped, and all_special_tokens lists them.
# Seen (2026-11-27, transformers 5.10.4, tokenizers 0.22.2; a tokenizer of words made here): <think> added by add_tokens(...,
# special_tokens=True), or as AddedToken(special=True), vanishes from the text; all_special_tokens has only the named ones,
# here the end. added_tokens_decoder lists it as special. Saving and loading changes nothing. Added by add_tokens without that
# option, it stays in the text; by add_special_tokens, it vanishes and is listed. So neither all_special_tokens nor the look
# of the token tells whether a verifier sees where the reasoning ends: of four tokenizers that all have <think>, one shows it.
#
#   add_tokens: text '<think> a', listed no, marked no
#   add_tokens, special_tokens=True: text 'a', listed no, marked yes
#   the same, saved and loaded: text 'a', listed no, marked yes
#   AddedToken, special=True: text 'a', listed no, marked yes
#   add_special_tokens: text 'a', listed yes, marked yes
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 tokenizers==0.22.2
cat >"$folder/tokens.py" <<'PYTHON'
import sys

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def tokenizer():
    words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "<end>": 2}, unk_token="b"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>")


made = {name: tokenizer() for name in ("plain", "special", "object", "kind")}
made["plain"].add_tokens(["<think>"])
made["special"].add_tokens(["<think>"], special_tokens=True)
made["object"].add_tokens([AddedToken("<think>", special=True)])
made["kind"].add_special_tokens({"extra_special_tokens": ["<think>"]})
made["special"].save_pretrained(sys.argv[1])
CASES = {
    "add_tokens": (made["plain"], ("<think> a", "no", "no")),
    "add_tokens, special_tokens=True": (made["special"], ("a", "no", "yes")),
    "the same, saved and loaded": (PreTrainedTokenizerFast.from_pretrained(sys.argv[1]), ("a", "no", "yes")),
    "AddedToken, special=True": (made["object"], ("a", "no", "yes")),
    "add_special_tokens": (made["kind"], ("a", "yes", "yes")),
}
changed = False
for name, (one, seen) in CASES.items():
    text = one.decode(one("<think> a").input_ids, skip_special_tokens=True).strip()
    marked = {token.content for token in one.added_tokens_decoder.values() if token.special}
    found = (text, *("yes" if "<think>" in tokens else "no" for tokens in (one.all_special_tokens, marked)))
    print(f"{name}: text {text!r}, listed {found[1]}, marked {found[2]}")
    changed |= found != seen
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/tokens.py" "$folder/tokenizer" 2>/dev/null
