#!/usr/bin/env bash
# mathruler 0.1.0: any unit counts as any other, a negative mixed number is another number, and where the gold is an integer,
# only an integer is right.
#
# Guessed: a unit is stripped where the gold has none, and 5 minutes are no 5 hours; equal values are equal in any notation.
# Seen (2026-11-30, mathruler 0.1.0, sympy 1.14.0, pylatexenc 2.10; the grader of EasyR1 and of verl's geometry3k): sixteen
# names of units are taken out of both sides wherever they stand, so that of two answers that are nothing but units each is
# right. -7 3/4 is -7 plus 3/4. If the gold is an integer, nothing is calculated: a power, a root, a sum or "3 million" is
# wrong. The same holds between fractions that are not reduced, and for sums of more than two letters in another order. Of
# "k=5" only the right side counts. So a task whose golds are times, lengths or dates rewards wrong units, and one whose golds
# are integers rewards the notation. Keep the units in golds out, or grade these answers with another parser.
#
#   right: 5 minutes for 5 hours | hour for day | 5 cm^2 for 5 meters | k=5 for x=5 | 50% for 50 | -7 3/4 for -25/4
#   wrong: -7 3/4 for -31/4 | 2^{10} for 1024 | \sqrt{16} for 4 | 4/2 for 2 | 3 million for 3000000 | 2/4 for 1/2
#   wrong: x+y+z for z+y+x
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mathruler==0.1.0 sympy==1.14.0 pylatexenc==2.10 tqdm
cat >"$folder/units.py" <<'PYTHON'
import sys

from mathruler.grader import grade_answer

SEEN = [
    ("right", "5 minutes for 5 hours | hour for day | 5 cm^2 for 5 meters | k=5 for x=5 | 50% for 50 | -7 3/4 for -25/4"),
    ("wrong", r"-7 3/4 for -31/4 | 2^{10} for 1024 | \sqrt{16} for 4 | 4/2 for 2 | 3 million for 3000000 | 2/4 for 1/2"),
    ("wrong", "x+y+z for z+y+x"),
]
same = True
for said, line in SEEN:
    found = [pair for pair in line.split(" | ") if grade_answer(*pair.split(" for ")) == (said == "right")]
    print(f"{said}:", " | ".join(found))
    same &= " | ".join(found) == line
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/units.py"
