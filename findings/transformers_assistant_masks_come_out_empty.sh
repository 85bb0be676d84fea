#!/usr/bin/env bash
# transformers 5.10.4: apply_chat_template(return_assistant_tokens_mask=True) gives a mask of zeros once truncation from the
# left cuts into an assistant's turn, and with some tokenizers in every conversation.
#
# Guessed: the mask marks the tokens of the assistants' turns ({% generation %} in the template) that are in the row, however
# it was cut and whichever tokenizer made it.
# Seen (2026-11-30, transformers 5.10.4, tokenizers 0.22.2; tokenizers made here): each turn is found by its first
# character. If no token has that character, this turn and all later ones are left out. So a cut from the left in the
# first of two answers leaves no answer, though the second is there in full; only a cut that ends before the first answer is
# right. With trim_offsets, the default of tokenizers' ByteLevel processor, no token has the space before a word: where turns
# begin with one, nothing is marked at all. And if no token has the last character, all that follows is marked, questions
# included, as with words that are split at white space where a turn ends in a line break. Nothing is said; trained with such
# a mask, a row has no loss, or that of the user. Cut rows after the mask has been made, and look at what it marks. See also
# huggingface/transformers#47325.
#
#   bytes, whole: "one two" and "three" marked
#   bytes, cut in the question: "one two" and "three" marked
#   bytes, cut in the first answer: nothing marked
#   trimmed offsets, turn begins with its word: "one two" and "three" marked
#   trimmed offsets, turn begins with a space: nothing marked
#   words, turn ends with its word: "one two" and "three" marked
#   words, turn ends with a line break: "one two user : where ? assistant : three" marked
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 tokenizers==0.22.2 jinja2==3.1.6
export HF_HOME=$folder/home
cat >"$folder/masks.py" <<'PYTHON'
import sys
from itertools import groupby

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

CHAT = [
    {"role": "user", "content": "where?"},
    {"role": "assistant", "content": "one two"},
    {"role": "user", "content": "where?"},
    {"role": "assistant", "content": "three"},
]
TURN = "{{% generation %}}{}{{% endgeneration %}}"


def template(turn, before="", behind="{{ '\\n' }}"):
    answer = before + TURN.format(turn) + behind
    return (
        "{% for message in messages %}{{ message.role }}:{% if message.role == 'assistant' %}" + answer
        + "{% else %} {{ message.content }}\n{% endif %}{% endfor %}"
    )  # fmt: skip


PLAIN = template("{{ message.content }}", before=" ")
BYTES = {symbol: index for index, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
WORDS = ["user", "assistant", ":", "?", "where", "one", "two", "three", "<unk>"]


def of_bytes(*, trimmed=False):
    tokenizer = Tokenizer(models.BPE(BYTES, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if trimmed:
        tokenizer.post_processor = processors.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def of_words():
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def marked(tokenizer, chat_template, left_out=0):
    """The texts that the mask marks, of the row without so many tokens at its left."""
    whole = tokenizer.apply_chat_template(CHAT, chat_template=chat_template, return_dict=True)["input_ids"]
    tokenizer.truncation_side = "left"
    row = tokenizer.apply_chat_template(
        CHAT,
        chat_template=chat_template,
        return_dict=True,
        return_assistant_tokens_mask=True,
        truncation=True,
        max_length=len(whole) - left_out,
    )
    assert row["input_ids"] == whole[left_out:]
    pairs = groupby(zip(row["input_ids"], row["assistant_masks"], strict=True), key=lambda pair: pair[1])
    texts = [tokenizer.decode([token for token, _ in group]).strip() for mark, group in pairs if mark]
    return " and ".join(f'"{text}"' for text in texts) or "nothing"


BOTH = '"one two" and "three"'
QUESTION = len("user: ")
ANSWER = len("user: where?\nassistant: one")
SPACE = template(" {{ message.content }}")
LINE = template("{{ message.content }}\n", before=" ", behind="")
CASES = {
    "bytes, whole": (marked(of_bytes(), PLAIN), BOTH),
    "bytes, cut in the question": (marked(of_bytes(), PLAIN, QUESTION), BOTH),
    "bytes, cut in the first answer": (marked(of_bytes(), PLAIN, ANSWER), "nothing"),
    "trimmed offsets, turn begins with its word": (marked(of_bytes(trimmed=True), PLAIN), BOTH),
    "trimmed offsets, turn begins with a space": (marked(of_bytes(trimmed=True), SPACE), "nothing"),
    "words, turn ends with its word": (marked(of_words(), PLAIN), BOTH),
    "words, turn ends with a line break": (
        marked(of_words(), LINE),
        '"one two user : where ? assistant : three"',
    ),
}
for what, (found, _) in CASES.items():
    print(f"{what}: {found} marked")
sys.exit(any(found != seen for found, seen in CASES.values()))
PYTHON
"$folder/venv/bin/python" "$folder/masks.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
