#!/usr/bin/env bash
# verl 0.9.1: the grader of MATH drops everything behind "\text{ ": "3\text{ or }7" is right for "3\text{ or }5". And once a
# response says "\boxed " with a space behind it, its box is not found.
#
# Guessed: it knows MATH's own ways of writing (10,\!000, \text{Evelyn}, decimals) and takes units off the end; other words are
# other answers, and the last box counts, whatever is said before.
# Seen (2026-11-30, verl 0.9.1, math_reward, which default_compute_score takes for lighteval/MATH,
# DigitalLearningGmbH/MATH-lighteval and HuggingFaceH4/MATH-500): what begins with \text and a space in the brace is taken for a
# unit and dropped with all that follows, on both sides: so are the second root, p.m. and even or odd. Behind that, texts are
# compared: 10,\!000 is 10,000 and not 10000; the gold \text{Evelyn} wants its \text; -1/4 is no -\frac{1}{4}, though 1/4 is
# \frac{1}{4}; of decimals only 0.5 is known. A response that speaks of "\boxed notation" first, or ends in "\boxed {5}", is
# wrong. So rewards and MATH-500 accuracies are off in both directions, in silence. Grade with a
# parser: set reward.custom_reward_function to one that uses math-verify.
#
#   right, and should be wrong: 3\text{ or }7 for 3\text{ or }5 | 3 for 3\text{ or }5 | \text{ even} for \text{ odd}
#   right, and should be wrong: 4\text{ p.m.} for 4\text{ a.m.} | 2\text{ feet} for 2\text{ miles}
#   wrong, and should be right: 10000 for 10,\!000 | 10,000 for 10{,}000 | Evelyn for \text{Evelyn} | -1/4 for -\frac{1}{4}
#   wrong, and should be right: 0.25 for \frac{1}{4} | 5.0 for 5 | x^{2} for x^2 | 2\text{cm} for 2
#   right, and should be: 10,000 for 10,\!000 | 1/4 for \frac{1}{4} | 0.5 for \frac{1}{2} | 2\text{ cm} for 2 | 30^\circ for 30
#   wrong, and should be: 3\text{or}7 for 3\text{or}5 | 4 for 5
#   wrong: I use \boxed notation. So $\boxed{5}$.
#   wrong: So \boxed {5}.
#   right: I use \boxed{} notation. So $\boxed{5}$.
#
# Exits with a status other than 0 if any of this differs. It runs verl's own file; of the last three the gold is 5.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/texts.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from pathlib import Path

file = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/math_reward.py")
spec = importlib.util.spec_from_file_location("math_reward", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

CASES = (
    (True, False, r"3\text{ or }7 for 3\text{ or }5 | 3 for 3\text{ or }5 | \text{ even} for \text{ odd}"),
    (True, False, r"4\text{ p.m.} for 4\text{ a.m.} | 2\text{ feet} for 2\text{ miles}"),
    (False, True, r"10000 for 10,\!000 | 10,000 for 10{,}000 | Evelyn for \text{Evelyn} | -1/4 for -\frac{1}{4}"),
    (False, True, r"0.25 for \frac{1}{4} | 5.0 for 5 | x^{2} for x^2 | 2\text{cm} for 2"),
    (True, True, r"10,000 for 10,\!000 | 1/4 for \frac{1}{4} | 0.5 for \frac{1}{2} | 2\text{ cm} for 2 | 30^\circ for 30"),
    (False, False, r"3\text{or}7 for 3\text{or}5 | 4 for 5"),
)
RESPONSES = (
    (False, r"I use \boxed notation. So $\boxed{5}$."),
    (False, r"So \boxed {5}."),
    (True, r"I use \boxed{} notation. So $\boxed{5}$."),
)
SAID = {True: "right", False: "wrong"}

changed = False
for seen, should, cases in CASES:
    for case in cases.split(" | "):
        answer, gold = case.split(" for ")
        found = module.compute_score(f"So it is $\\boxed{{{answer}}}$.", gold) == 1
        changed |= found != seen
        print(f"{SAID[found]}, and should be{f' {SAID[should]}' if found != should else ''}: {case}")
for seen, response in RESPONSES:
    found = module.compute_score(response, "5") == 1
    changed |= found != seen
    print(f"{SAID[found]}: {response}")
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/texts.py"
