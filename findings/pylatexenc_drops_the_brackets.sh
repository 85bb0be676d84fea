#!/usr/bin/env bash
# pylatexenc 2.11: latex_to_text drops the brackets of fractions and powers, but keeps those of roots, so a grader that parses
# its text grades another expression.
#
# Guessed: \frac{1+x}{2} becomes (1+x)/2: graders made for training take this step and then ask sympy.
# Seen (2026-11-27, pylatexenc 2.11, sympy 1.14.0): it becomes 1+x/2, the same text as that of 1+\frac{x}{2}. Denominators are
# torn apart likewise: \frac{3}{2\pi} and \frac{3\pi}{2} are the same number for sympy, and \frac{a}{b+c} is a/b+c. pylatexenc
# is made for human readers, and does what it says. verl 0.9.1 grades the sources named numina_* this way
# (reward_score/prime_math): for the gold \frac{1+\sqrt{5}}{2} it gave 1.0 to 1+\frac{\sqrt{5}}{2}, and for \frac{1}{2n} to
# \frac{n}{2}.
#
#   \frac{1+x}{2}: 1+x/2, at 3 2.5 and not 2
#   1+\frac{x}{2}: 1+x/2, at 3 2.5
#   \frac{12}{2x}: 12/2x, at 3 18 and not 2
#   \frac{x}{2+x}: x/2+x, at 3 4.5 and not 0.6
#   2^{x-1}: 2^x-1, at 3 7 and not 4
#   \sqrt{x+1}: √(x+1)
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pylatexenc==2.11 sympy==1.14.0
cat >"$folder/brackets.py" <<'PYTHON'
import sys

import sympy
from pylatexenc.latex2text import LatexNodes2Text
from sympy.parsing.sympy_parser import implicit_multiplication_application, parse_expr, standard_transformations

READS = (*standard_transformations, implicit_multiplication_application)
SEEN = {  # as text, at x = 3 by that text, and truly
    r"\frac{1+x}{2}": ("1+x/2", 2.5, 2.0),
    r"1+\frac{x}{2}": ("1+x/2", 2.5, 2.5),
    r"\frac{12}{2x}": ("12/2x", 18.0, 2.0),
    r"\frac{x}{2+x}": ("x/2+x", 4.5, 0.6),
    "2^{x-1}": ("2^x-1", 7.0, 4.0),
}
changed = False
for latex, (seen, wrong, right) in SEEN.items():
    text = LatexNodes2Text().latex_to_text(latex)
    value = float(parse_expr(text.replace("^", "**"), transformations=READS).subs(sympy.Symbol("x"), 3))
    print(f"{latex}: {text}, at 3 {value:g}" + (f" and not {right:g}" if value != right else ""))
    changed |= (text, value) != (seen, wrong)
root = LatexNodes2Text().latex_to_text(r"\sqrt{x+1}")
print(rf"\sqrt{{x+1}}: {root}")
sys.exit(changed or root != "√(x+1)")
PYTHON
"$folder/venv/bin/python" "$folder/brackets.py" 2>/dev/null
