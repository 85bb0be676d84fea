#!/usr/bin/env bash
# math-verify 0.9.0: numbers in forms that answers are written in are read as other numbers, and graded as these.
#
# Guessed: a form that the parser does not know gives nothing to compare with, and so a wrong label, never another number.
# Seen (2026-11-27, math-verify 0.9.0, latex2sympy2_extended 1.11.0, sympy 1.14.0): spaces between thousands, which many of the
# published competition answers have, add: twelve thousand five hundred is 512. A repeating decimal stops at the bar, so that
# the gold 0.333... is met by 0 and not by a third. The base of a numeral is dropped, so that 101 of base 2 and of base 3 are
# equal. \bmod and \pmod are read as \pm or left out: the residue is 7. Dots of a list are dropped, and with two numbers and a
# letter behind them the list is a decimal. Nothing is logged. A gold of such a form makes a problem that no right answer
# solves; a count of golds that parse does not show it.
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
# Ends with a status other than 0 if any of this is otherwise.
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
