#!/usr/bin/env bash
# opencompass 0.5.4: where it does not know the phrase, its reader of options takes the first A, B, C or D of any word: "Answer:
# **C**" is A, and "Based on the text, the correct answer is **C**" B. In C-Eval and CommonsenseQA "The answer is C" is T.
#
# Guessed: the letter that a response names counts, and where none is found, the response is wrong.
# Seen (2026-11-30, opencompass 0.5.4; first_option_postprocess and first_capital_postprocess on responses made here): the first
# is what the default configurations of ARC, RACE, OpenBookQA, PIQA, SIQA and others read answers with, and many of MMLU, GPQA
# and MathBench. It knows "The answer is **C**", but not "The correct answer is **C**" or "Answer: **C**"; whatever it does not
# know ends in the first of these letters in the text, at the start of a word or not. The second, of C-Eval's and
# CommonsenseQA's defaults, takes the first capital of the text, so that whoever answers with a sentence fails.
# Instruction-tuned models write bold letters and begin with According, Based, Comparing or During: part of their score is
# chance, and it moves with the style that training gives them. Use configurations that ask for a last line "ANSWER: C", as
# those from simple-evals do.
#
#   first_option_postprocess:
#   C: C. 18 | The answer is **C**. | Answer: C | The final answer is $\boxed{C}$. | Both are heavy, so the answer is (C).
#   A: Answer: **C** | The answer is clearly C, and not A. | A is wrong. The correct answer is **C**.
#   B: Based on the text, the correct answer is **C**. | Because it is heavier, C is right.
#   D: Dividing by 2 gives the result, so **C**.
#   first_capital_postprocess:
#   C: C. 18
#   T: The answer is C.
#   B: Both are heavy, so the answer is (C).
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile mmengine-lite==0.11.0rc3 packaging
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps opencompass==0.5.4
cat >"$folder/letters.py" <<'PYTHON'
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

# The package of the readers imports torch and more for other modules; only its folder is needed.
utils = sys.modules["opencompass.utils"] = ModuleType("opencompass.utils")
utils.__spec__ = ModuleSpec("opencompass.utils", None)
utils.__path__ = [f"{find_spec('opencompass').submodule_search_locations[0]}/utils"]

from opencompass.utils.text_postprocessors import first_capital_postprocess, first_option_postprocess

BOTH = "Both are heavy, so the answer is (C)."
CASES = [
    (
        "first_option_postprocess",
        partial(first_option_postprocess, options="ABCD"),
        {
            "C": ["C. 18", "The answer is **C**.", "Answer: C", "The final answer is $\\boxed{C}$.", BOTH],
            "A": ["Answer: **C**", "The answer is clearly C, and not A.", "A is wrong. The correct answer is **C**."],
            "B": ["Based on the text, the correct answer is **C**.", "Because it is heavier, C is right."],
            "D": ["Dividing by 2 gives the result, so **C**."],
        },
    ),
    ("first_capital_postprocess", first_capital_postprocess, {"C": ["C. 18"], "T": ["The answer is C."], "B": [BOTH]}),
]
same = True
for name, read, seen in CASES:
    print(f"{name}:")
    responses = [response for side in seen.values() for response in side]
    for letter, side in seen.items():
        found = [response for response in responses if read(response) == letter]
        print(f"{letter}:", " | ".join(found))
        same &= found == side
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/letters.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
