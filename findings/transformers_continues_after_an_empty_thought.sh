#!/usr/bin/env bash
# transformers 5.10.4: with the templates of Qwen3, Qwen3.5 to 3.8 and GLM-4.5, continue_final_message puts an empty thought
# before a thought that is to be continued.
#
# Guessed: apply_chat_template(continue_final_message=True) ends in the last message as it is written, or raises: it looks
# whether the message is in what the template gives.
# Seen (2026-11-30, transformers 5.10.4; the templates as trl 1.16.0 holds them; a last message "<think>\nLet me see"): the
# templates read a thought out of a message only behind its "</think>". A message that breaks off within its thought counts
# as an answer, and gets an empty thought in front; the text of the message is there, so nothing is said. The template of
# Qwen3.8 does it to whole thoughts, too. That of Qwen2.5 changes nothing; DeepSeek-R1's drops a whole thought, and that
# raises. So a rollout that was cut and goes on, a budget that is forced, or thoughts that are given a beginning ask the model
# for what comes after a thought that has ended, in a form that it was not trained on. Pass the thought as
# "reasoning_content" with continue_final_message="reasoning_content", or put the text behind what add_generation_prompt
# gives.
#
#   what comes behind the last question, line breaks as \n:
#   qwen3
#     a thought that is cut: <|im_start|>assistant\n<think>\n\n</think>\n\n<think>\nLet me see
#     a whole thought:       <|im_start|>assistant\n<think>\nTwice two.\n</think>\n\nThe answer is
#     as reasoning_content:  <|im_start|>assistant\n<think>\nLet me see
#   qwen3_5_think, qwen3_6: as qwen3
#   qwen3_8
#     a thought that is cut: <|im_start|>assistant\n<think>\n\n</think>\n\n<think>\nLet me see
#     a whole thought:       <|im_start|>assistant\n<think>\n\n</think>\n\n<think>\nTwice two.\n</think>\n\nThe answer is
#     as reasoning_content:  <|im_start|>assistant\n<think>\nLet me see
#   glm4moe
#     a thought that is cut: <|assistant|>\n<think></think>\n<think>\nLet me see
#     a whole thought:       ValueError
#     as reasoning_content:  <|assistant|>\n<think>Let me see
#   qwen2_5
#     a thought that is cut: <|im_start|>assistant\n<think>\nLet me see
#     a whole thought:       <|im_start|>assistant\n<think>\nTwice two.\n</think>\n\nThe answer is
#     as reasoning_content:  ValueError
#   deepseek_r1_distill
#     a thought that is cut: <｜Assistant｜><think>\nLet me see
#     a whole thought:       ValueError
#     as reasoning_content:  ValueError
#
# Exits with a status other than 0 if any of this differs. It downloads no model.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 jinja2==3.1.6
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps trl==1.16.0
export HF_HOME=$folder/home
cat >"$folder/thoughts.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

QUESTION = "What is 2 * 2?"
CASES = {
    "a thought that is cut: ": ({"content": "<think>\nLet me see"}, True),
    "a whole thought:       ": ({"content": "<think>\nTwice two.\n</think>\n\nThe answer is"}, True),
    "as reasoning_content:  ": ({"content": "", "reasoning_content": "Let me see"}, "reasoning_content"),
}
EMPTY, QWEN = "<think>\n\n</think>\n\n", "<|im_start|>assistant\n"
CUT, WHOLE = "<think>\nLet me see", "<think>\nTwice two.\n</think>\n\nThe answer is"
SEEN = {
    "qwen3": [QWEN + EMPTY + CUT, QWEN + WHOLE, QWEN + CUT],
    "qwen3_5_think": [QWEN + EMPTY + CUT, QWEN + WHOLE, QWEN + CUT],
    "qwen3_6": [QWEN + EMPTY + CUT, QWEN + WHOLE, QWEN + CUT],
    "qwen3_8": [QWEN + EMPTY + CUT, QWEN + EMPTY + WHOLE, QWEN + CUT],
    "glm4moe": ["<|assistant|>\n<think></think>\n" + CUT, "ValueError", "<|assistant|>\n<think>Let me see"],
    "qwen2_5": [QWEN + CUT, QWEN + WHOLE, "ValueError"],
    "deepseek_r1_distill": ["<｜Assistant｜>" + CUT, "ValueError", "ValueError"],
}

templates = Path(find_spec("trl").origin).parent / "chat_templates"
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), bos_token="a")


def continued(template, message, key):
    chat = [{"role": "user", "content": QUESTION}, {"role": "assistant", **message}]
    try:
        text = tokenizer.apply_chat_template(chat, chat_template=template, tokenize=False, continue_final_message=key)
    except ValueError:
        return "ValueError"
    return text.split(QUESTION)[1].removeprefix("<|im_end|>").removeprefix("\n")


same = True
for name, seen in SEEN.items():
    template = (templates / f"{name}.jinja").read_text()
    found = [continued(template, message, key) for message, key in CASES.values()]
    print(name)
    for case, text in zip(CASES, found, strict=True):
        print(" ", case + text.replace("\n", "\\n"))
    same &= found == seen
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/thoughts.py" 2>/dev/null
