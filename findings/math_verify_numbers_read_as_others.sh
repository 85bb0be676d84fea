#!/usr/bin/env bash
# math-verify 0.9.0: some common notations of numbers are parsed as other numbers, and graded as those.
#
# Guessed: a notation that the parser does not know gives nothing to compare with, and so a wrong label, never another number.
# Seen (2026-11-27, math-verify 0.9.0, latex2sympy2_extended 1.11.0, sympy 1.14.0): thousands separated by spaces, as in many
# published competition answers, are added up: twelve thousand five hundred is 512. A repeating decimal stops at the bar, so
# the gold 0.333... matches 0 and not a third. The base of a numeral is dropped, so 101 in base 2 equals 101 in base 3. \bmod
# and \pmod are read as \pm or left out: only 7 remains. Dots of a list are dropped, and two numbers with a letter after them
# become a decimal. Nothing is logged. A gold of such a form makes a problem that no right answer solves; counting the golds
# that parse does not reveal it.
#
#   12\,500: 512
#   12\ 500: 512
#   0.\overline{3}: 0
#   1.\overline{3}: 1
#   101_2: 101
#   5 \bmod 7: 7
#   1,2,\dots,n: 1.20000000000000
#   \frac{1}{3} for the gold 0.\overline{3}: wrong
#   0 for the gold 0.\overline{3}: right
#   101_3 for the gold 101_2: right
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.9.3
cat >"$folder/graded.py" <<'PYTHON'
import sys

from math_verify import parse, verify

READ = {
    r"12\,500": "512",
    r"12\ 500": "512",
    r"0.\overline{3}": "0",
    r"1.\overline{3}": "1",
    "101_2": "101",
    r"5 \bmod 7": "7",
    r"1,2,\dots,n": "1.20000000000000",
}
GRADED = {
    (r"0.\overline{3}", r"\frac{1}{3}"): "wrong",
    (r"0.\overline{3}", "0"): "right",
    ("101_2", "101_3"): "right",
}


def number(text):
    """As it is read first. Without the time limit, which on a busy machine ends the first call while modules are loaded."""
    return parse(f"${text}$", parsing_timeout=None)[0]


changed = False
for text, seen in READ.items():
    found = str(number(text))
    print(f"{text}: {found}")
    changed |= found != seen
for (gold, answer), seen in GRADED.items():
    found = "right" if verify(number(gold), number(answer), timeout_seconds=None) else "wrong"
    print(f"{answer} for the gold {gold}: {found}")
    changed |= found != seen
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/graded.py" 2>/dev/null
