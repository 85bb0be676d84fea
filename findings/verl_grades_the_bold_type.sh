#!/usr/bin/env bash
# verl 0.9.1: the grader of DAPO's data and AIME compares texts: a right answer in bold, in \(...\) or with a full stop is
# wrong.
#
# Guessed: it reads the number behind the last "Answer:", whatever the layout, as lenient as its long list of units and words
# that it strips suggests.
# Seen (2026-11-29, verl 0.9.1, math_dapo, which grades data sources that are named math_dapo, math or aime...): everything
# behind "Answer:" up to the line's end is compared with the gold as a text. Dollar signs and a box are taken off, and so is a
# list of words (points, km, degrees, but not years). Stars, \(...\), backquotes and a full stop are not, so "**Answer:** 12",
# the usual layout of chat models, scores -1; "**Answer:** $12$" scores 1. Of equations the right side counts, also in 12 = 3
# * 4. Only the last 300 characters are looked at. So an instruct model's accuracy before training is in part that of its
# layout, and a run can gain by leaving stars out. A prompt that asks for a box and no line with "Answer:" avoids it: a box
# alone is read, from the last 100 characters.
#
#   right: Answer: 12 | Answer: $12$ | Answer: $12$. | **Answer:** $12$ | Answer: 12 points | Answer: \boxed{12} | \boxed{12}
#   wrong: **Answer:** 12 | **Answer: 12** | Answer: **12** | **Answer:** \boxed{12} | Answer: \(12\) | Answer: `12`
#   wrong: Answer: 12. | Answer: \boxed{12}. | Answer: 12.0 | Answer: 012 | Answer: 12 years | Answer: 12 = 3 * 4
#   wrong: Answer: 12, and 300 characters more
#
# Exits with a status other than 0 if any of this differs. It runs verl's own file; the gold is 12.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/layouts.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from pathlib import Path

file = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/math_dapo.py")
spec = importlib.util.spec_from_file_location("math_dapo", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

RIGHT = r"Answer: 12 | Answer: $12$ | Answer: $12$. | **Answer:** $12$ | Answer: 12 points | Answer: \boxed{12} | \boxed{12}"
WRONG = (
    r"**Answer:** 12 | **Answer: 12** | Answer: **12** | **Answer:** \boxed{12} | Answer: \(12\) | Answer: `12`",
    r"Answer: 12. | Answer: \boxed{12}. | Answer: 12.0 | Answer: 012 | Answer: 12 years | Answer: 12 = 3 * 4",
)
LONG = "Answer: 12\n" + "It was checked." * 20

changed = False
for layouts, right in ((RIGHT, True), *((layouts, False) for layouts in WRONG)):
    for layout in layouts.split(" | "):
        found = module.compute_score(f"Three times four is twelve.\n{layout}", "12")["acc"]
        changed |= found != right
        print(f"{'right' if found else 'wrong'}: {layout}")
found = module.compute_score(LONG, "12")["acc"]
print(f"{'right' if found else 'wrong'}: Answer: 12, and 300 characters more")
sys.exit(changed or found)
PYTHON
"$folder/venv/bin/python" "$folder/layouts.py"
