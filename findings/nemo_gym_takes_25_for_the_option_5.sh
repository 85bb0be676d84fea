#!/usr/bin/env bash
# nemo-gym 0.7.0: in its multiple choice environment, lenient_boxed takes \boxed{25} for the option 5 and \boxed{15} for none of 5
# and 15; the mode of its MMLU-Pro, GPQA and SuperGPQA takes "Answer: a dominant allele, so C" for A.
#
# Guessed: lenient_boxed takes the option whose text is in the box, and no other; the modes for "Answer:" take the option that is
# named, and the last one; bold type and a full stop do not matter.
# Seen (2026-11-30, nemo-gym 0.7.0, verify of its mcqa server on responses made here): lenient_boxed looks for the text of each
# option anywhere in the box: 25 is the option 5, 110 the option 10, "never increases" the option increases; and where an option
# is a part of another (5 and 15, 3 and -3), the longer one can never be right by its text. A box with a letter behind a number
# is that letter: 7 B is B. lenient_answer_colon takes the first "Answer:", and the letter only if nothing is beside it: C with a
# full stop is no answer. lenient_answer_colon_md, which its MMLU-Pro, GPQA and SuperGPQA set, takes a single letter right behind
# "Answer:" whatever its case, so an article is A and the pronoun I is I, and otherwise the last single capital: "not A" is A. So a
# model is graded by how it phrases the line. Ask for a letter in a box, use strict_single_letter_boxed, and count no-answers.
#
#   lenient_boxed, A 5, B 10, C 15, D -5: \boxed{C} is C | \boxed{15} is None | \boxed{-5} is None | \boxed{25} is A |
#     \boxed{110} is B | \boxed{7 B} is B
#   lenient_boxed, A increases, B decreases, C stays the same: \boxed{decreases} is B | \boxed{never increases} is A
#   lenient_answer_colon, A 5, B 10, C 15, D -5: Answer: C is C | Answer: C. is None | **Answer:** C is None | Answer:
#     A\nNo.\nAnswer: C is A
#   lenient_answer_colon_md, A to J: Answer: C is C | **Answer:** C. is C | Answer: a dominant allele, so C is A | Answer: I
#     think it is B is I | Answer: not A is A | Answer: option D (vitamin C) is C
#
# Exits with a status other than 0 if any of this differs. It runs nemo-gym's own grader; the base classes of its server are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/choices.py" <<'PYTHON'
import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel


class Row(BaseModel, extra="allow"):
    response: Any = None


names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, Row), SimpleResourcesServer=object, ReverifyMode=type("Mode", (), {"STATELESS": 0}))
metrics = ModuleType("nemo_gym.reward_profile")
vars(metrics).update(compute_pass_majority_metrics=None, highest_k_metrics=None)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base, metrics.__name__: metrics})

from resources_servers.mcqa.app import MCQAResourcesServer, MCQAVerifyRequest  # noqa: E402

NUMBERS = {"A": "5", "B": "10", "C": "15", "D": "-5"}
WORDS = {"A": "increases", "B": "decreases", "C": "stays the same"}
LETTERS = {letter: f"option {letter}" for letter in "ABCDEFGHIJ"}
CASES = (
    ("lenient_boxed", NUMBERS, ("\\boxed{C}", "\\boxed{15}", "\\boxed{-5}", "\\boxed{25}", "\\boxed{110}", "\\boxed{7 B}")),
    ("lenient_boxed", WORDS, ("\\boxed{decreases}", "\\boxed{never increases}")),
    ("lenient_answer_colon", NUMBERS, ("Answer: C", "Answer: C.", "**Answer:** C", "Answer: A\nNo.\nAnswer: C")),
    (
        "lenient_answer_colon_md",
        LETTERS,
        (
            "Answer: C",
            "**Answer:** C.",
            "Answer: a dominant allele, so C",
            "Answer: I think it is B",
            "Answer: not A",
            "Answer: option D (vitamin C)",
        ),
    ),
)
SEEN = """\
lenient_boxed, A 5, B 10, C 15, D -5: \\boxed{C} is C | \\boxed{15} is None | \\boxed{-5} is None | \\boxed{25} is A | \\boxed{110} is B | \\boxed{7 B} is B
lenient_boxed, A increases, B decreases, C stays the same: \\boxed{decreases} is B | \\boxed{never increases} is A
lenient_answer_colon, A 5, B 10, C 15, D -5: Answer: C is C | Answer: C. is None | **Answer:** C is None | Answer: A\\nNo.\\nAnswer: C is A
lenient_answer_colon_md, A to J: Answer: C is C | **Answer:** C. is C | Answer: a dominant allele, so C is A | Answer: I think it is B is I | Answer: not A is A | Answer: option D (vitamin C) is C"""


def extracted(mode, options, said):
    server = object.__new__(MCQAResourcesServer)
    server.__dict__["config"] = SimpleNamespace(grading_mode=mode)
    response = SimpleNamespace(output_text=said)
    options = [{letter: text} for letter, text in options.items()]
    return asyncio.run(server.verify(MCQAVerifyRequest(response=response, options=options, expected_answer="A"))).extracted_answer


lines = []
for mode, options, texts in CASES:
    listed = ", ".join(f"{letter} {text}" for letter, text in options.items()) if options is not LETTERS else "A to J"
    shown = " | ".join(f"{said} is {extracted(mode, options, said)}" for said in texts).replace("\n", "\\n")
    lines.append(f"{mode}, {listed}: {shown}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/choices.py"
