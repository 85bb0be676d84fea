#!/usr/bin/env bash
# nemo-evaluator 0.3.0: its MGSM takes 2, 20 and 200 for one number, and no number for 0; its DROP takes an empty response for
# right, and any that has the letters of the gold somewhere in it.
#
# Guessed: MGSM compares the value of the last number with the gold, DROP the answer line, as its prompt asks for one, up to
# articles and punctuation; GSM8K reads the number behind "The answer is", MATH-500 and GPQA the last line "Answer:".
# Seen (2026-11-30, nemo-evaluator 0.3.0; the benchmarks' own seed and verify on rows and responses made here): MGSM takes the
# zeros from the end of both numbers, with a decimal point or without one, so tens and hundreds count as their first digits.
# DROP compares the whole response with the gold and asks if either holds the other: reasoning that names 1937 is right for 3,
# and an empty response, or "The", for everything. GSM8K compares the rest of the line: a unit, a bold mark, a colon or a box
# makes a right answer wrong, and so does 18.00. MATH-500 takes the commas out: (12) is right for (1,2); it finds no box. GPQA
# takes the first "Answer:" and the first letter behind it, of whatever word. So MGSM and DROP come out too high, GSM8K and
# MATH-500 too low, all with the layout of a model. Grade the saved responses again with a parser of numbers.
#
#   right:
#   mgsm: "Answer: 20" for 200 | "Answer: 2" for 200 | "Answer: 500" for 5 | "I do not know." for 0
#   drop: "" for Denver | "The" for 42 | "It was in 1937. Answer: 5" for 3 | "Not Denver, so Answer: Dallas" for Denver
#   math500: "Answer: (12)" for (1,2) | "Answer: 12" for 1,2
#   gpqa: "Answer: Clearly D" for C | "Answer: A or B? Not A.\nAnswer: B" for A
#   wrong:
#   gsm8k: "The answer is 18 eggs." for 18 | "The answer is: 18" for 18 | "**The answer is 18**" for 18
#   gsm8k: "The answer is \boxed{18}." for 18 | "The answer is 18.00" for 18
#   math500: "Answer: \boxed{18}" for 18 | "So \boxed{18}." for 18
#
# Exits with a status other than 0 if any of this differs. The package asks for a newer Python than its benchmarks need; they
# are loaded without what the packages around them import.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --ignore-requires-python nemo-evaluator==0.3.0
cat >"$folder/benchmarks.py" <<'PYTHON'
import asyncio
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

root = find_spec("nemo_evaluator").submodule_search_locations[0]
for part in ("", ".benchmarks", ".environments", ".sandbox"):  # without what their __init__ import
    sys.modules[f"nemo_evaluator{part}"] = module = ModuleType(f"nemo_evaluator{part}")
    module.__path__ = [root + part.replace(".", "/")]
custom = import_module("nemo_evaluator.environments.custom")
for name in ("mgsm", "drop", "math500", "gpqa", "gsm8k"):
    import_module(f"nemo_evaluator.benchmarks.{name}")

# A row of each benchmark with the gold, as its loader gives it.
ROWS = {
    "mgsm": lambda gold: {"question": "How many?", "answer": gold, "language": "en"},
    "drop": lambda gold: {"passage": "A game.", "question": "What?", "answers": [gold]},
    "math500": lambda gold: {"problem": "How many?", "answer": gold},
    "gpqa": lambda gold: {"Question": "Which?", "Correct Answer": gold} | {f"Incorrect Answer {i}": i for i in (1, 2, 3)},
    "gsm8k": lambda gold: {"question": "How many?", "answer": f"Some.\n#### {gold}"},
}
RIGHT = [
    ("mgsm", ("Answer: 20", "200"), ("Answer: 2", "200"), ("Answer: 500", "5"), ("I do not know.", "0")),
    (
        "drop",
        ("", "Denver"),
        ("The", "42"),
        ("It was in 1937. Answer: 5", "3"),
        ("Not Denver, so Answer: Dallas", "Denver"),
    ),
    ("math500", ("Answer: (12)", "(1,2)"), ("Answer: 12", "1,2")),
    ("gpqa", ("Answer: Clearly D", "C"), ("Answer: A or B? Not A.\nAnswer: B", "A")),
]
WRONG = [
    ("gsm8k", ("The answer is 18 eggs.", "18"), ("The answer is: 18", "18"), ("**The answer is 18**", "18")),
    ("gsm8k", ("The answer is \\boxed{18}.", "18"), ("The answer is 18.00", "18")),
    ("math500", ("Answer: \\boxed{18}", "18"), ("So \\boxed{18}.", "18")),
]
PLAIN = {"mgsm": "Answer: 18", "drop": "Answer: 18", "math500": "Answer: 18", "gsm8k": "The answer is 18"}


async def reward(name, response, gold):
    definition = replace(custom._BYOB_REGISTRY[name], dataset=lambda: [ROWS[name](gold)])
    environment = custom.ByobEnvironment(definition)
    seed = await environment.seed(0)
    expected = gold if name == "gpqa" else seed.expected_answer  # gpqa's letter is drawn
    return (await environment.verify(response, expected, **seed.metadata)).reward


same = all(asyncio.run(reward(name, response, "18")) == 1.0 for name, response in PLAIN.items())
same &= not any(asyncio.run(reward(name, response, "77")) for name, response in PLAIN.items())
for verdict, score, benchmarks in (("right", 1.0, RIGHT), ("wrong", 0.0, WRONG)):
    print(f"{verdict}:")
    for name, *cases in benchmarks:
        same &= all(asyncio.run(reward(name, *case)) == score for case in cases)
        written = (f'"{response}" for {gold}'.replace("\n", "\\n") for response, gold in cases)
        print(f"{name}:", " | ".join(written))
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/benchmarks.py"
