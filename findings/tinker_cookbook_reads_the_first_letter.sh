#!/usr/bin/env bash
# tinker-cookbook 0.6.1: its multiple-choice benchmarks read "The answer is clearly D" as C, the first letter of "clearly"; its
# GSM8K and AIME take the first box and run its digits together: \frac{36}{2} is 362.
#
# Guessed: the letter behind "the answer is" counts if it stands alone; of several boxes the last one counts, as in MATH; a box
# without a plain number is wrong.
# Seen (2026-11-30, tinker-cookbook 0.6.1; its environments of GPQA, MMLU-Pro, GSM8K and AIME on responses made here): behind
# "answer is" or "answer:" a letter of the options counts, large or small, even if a word only starts with it: clearly,
# definitely, based, an. Without such words the last capital of the last 300 characters counts, and that can be the article "A"
# or, in MMLU-Pro and SuperGPQA, whose options go up to J, the pronoun "I". From a box, commands and braces are taken out, and
# the first digits of what remains count. So a right answer that is written as a product or an equation is wrong, 1/2 is right
# for 12, and of two boxes the first one counts. (C-Eval and MMLU-Redux read letters in the same way.) A model's score is in
# part that of its phrases. Ask for a box with nothing but the letter or the number in it, and grade the stored responses again
# yourself.
#
#   GPQA:
#   C: The answer is (C). | The answer is clearly D. | The correct answer is **C**.
#   D: The answer is definitely B. | The answer is determined by the sign: (B).
#   B: The answer is based on Ohm's law: (C).
#   A: The answer is an even number, so (C). | **Answer**: (C) A check: it is even.
#   MMLU-Pro:
#   C: The answer is (C).
#   I: It is C, and I have shown why.
#   GSM8K, gold 18:
#   right: \boxed{18} | \boxed{\$18} | \boxed{x = 18}
#   wrong: \boxed{\frac{36}{2}} | \boxed{3 \times 6 = 18} | First \boxed{3}, then \boxed{18}.
#   GSM8K, gold 12:
#   right: \boxed{12} | \boxed{\frac{1}{2}}
#   AIME, gold 16:
#   right: \boxed{016} | \boxed{\frac{1}{6}}
#   wrong: \boxed{2^4} | \boxed{9 + 7 = 16}
#
# Exits with a status other than 0 if any of this differs. It installs no tml-renderers, which these benchmarks do not use.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy tinker==0.38.0 transformers==5.10.4 \
  datasets==5.2.0 blobfile chz pillow termcolor
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps tinker-cookbook==0.6.1
cat >"$folder/answers.py" <<'PYTHON'
import asyncio
import sys

from tinker_cookbook.eval.benchmarks.aime import AIMEMessageEnv
from tinker_cookbook.eval.benchmarks.gpqa import GPQAMessageEnv
from tinker_cookbook.eval.benchmarks.gsm8k import GSM8KMessageEnv
from tinker_cookbook.eval.benchmarks.mmlu_pro import MMLUProMessageEnv


def step(env, response):
    return asyncio.run(env.step({"role": "assistant", "content": response}))


def letter(env):
    return lambda response: step(env, response).logs["extracted"]


def verdict(env):
    return lambda response: "right" if step(env, response).reward else "wrong"


CASES = [
    (
        "GPQA",
        letter(GPQAMessageEnv("", "C")),
        {
            "C": ["The answer is (C).", "The answer is clearly D.", "The correct answer is **C**."],
            "D": ["The answer is definitely B.", "The answer is determined by the sign: (B)."],
            "B": ["The answer is based on Ohm's law: (C)."],
            "A": ["The answer is an even number, so (C).", "**Answer**: (C) A check: it is even."],
        },
    ),
    (
        "MMLU-Pro",
        letter(MMLUProMessageEnv("", "C", "ABCDEFGHIJ")),
        {"C": ["The answer is (C)."], "I": ["It is C, and I have shown why."]},
    ),
    (
        "GSM8K, gold 18",
        verdict(GSM8KMessageEnv("", "18")),
        {
            "right": [r"\boxed{18}", r"\boxed{\$18}", r"\boxed{x = 18}"],
            "wrong": [r"\boxed{\frac{36}{2}}", r"\boxed{3 \times 6 = 18}", r"First \boxed{3}, then \boxed{18}."],
        },
    ),
    ("GSM8K, gold 12", verdict(GSM8KMessageEnv("", "12")), {"right": [r"\boxed{12}", r"\boxed{\frac{1}{2}}"]}),
    (
        "AIME, gold 16",
        verdict(AIMEMessageEnv("", 16)),
        {"right": [r"\boxed{016}", r"\boxed{\frac{1}{6}}"], "wrong": [r"\boxed{2^4}", r"\boxed{9 + 7 = 16}"]},
    ),
]
same = True
for name, read, seen in CASES:
    print(f"{name}:")
    responses = [response for side in seen.values() for response in side]
    for said, side in seen.items():
        found = [response for response in responses if read(response) == said]
        print(f"{said}:", " | ".join(found))
        same &= found == side
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/answers.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
