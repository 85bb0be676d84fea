#!/usr/bin/env bash
# sympy 1.14.0, lm-eval 0.4.13: parse_latex reads a list up to its first comma and drops the rest, so exact_match of
# minerva_math takes "1" and "1,5" for the gold "1,-2".
#
# Guessed: a formula that the parser cannot read whole raises; that is what lm-eval catches and counts as wrong.
# Seen (2026-11-30, sympy 1.14.0, antlr4-python3-runtime 4.11.0, lm-eval 0.4.13; minerva_math's own process_results): of
# "1,-2", "\sqrt{2},\sqrt{3}" and "x,y" the first item remains, and of "x^2+" what stands before the sign. A mixed number is a
# product: 2\frac{1}{2} is 1, so the gold of two and a half takes 1 and not 2.5. Words are products of their letters, and east
# is seat. log is the natural one. Nothing is said. So on MATH a model that finds one of several solutions, the first, is
# right where it is wrong. The leaderboard's MATH and putnam_axiom parse in the same way (read, not run). The column
# math_verify beside it has none of these. Report that one, or split lists before parsing.
#
#   parse_latex: 1,-2 is 1 | \sqrt{2},\sqrt{3} is sqrt(2) | x^2+ is x**2 | 2\frac{1}{2} is 2/2
#   right: 1 for 1,-2 | 1,5 for 1,-2 | \sqrt{2} for \sqrt{2},\sqrt{3} | 1 for 2\frac{1}{2} | \text{seat} for \text{east}
#   wrong: -2,1 for 1,-2 | 2.5 for 2\frac{1}{2} | \frac{5}{2} for 2\frac{1}{2} | 2 for \log 100
#
# Exits with a status other than 0 if any of this differs. It runs lm-eval's own file.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sympy==1.14.0 antlr4-python3-runtime==4.11.0 \
  mpmath==1.3.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps lm-eval==0.4.13 math-verify==0.9.0 \
  latex2sympy2_extended==1.11.0
cat >"$folder/lists.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from pathlib import Path

from sympy.parsing.latex import parse_latex

file = Path(sysconfig.get_paths()["purelib"], "lm_eval/tasks/minerva_math/utils.py")
spec = importlib.util.spec_from_file_location("minerva_math", file)
utils = importlib.util.module_from_spec(spec)
spec.loader.exec_module(utils)

READ = r"1,-2 is 1 | \sqrt{2},\sqrt{3} is sqrt(2) | x^2+ is x**2 | 2\frac{1}{2} is 2/2"
SEEN = {
    "right": r"1 for 1,-2 | 1,5 for 1,-2 | \sqrt{2} for \sqrt{2},\sqrt{3} | 1 for 2\frac{1}{2} | \text{seat} for \text{east}",
    "wrong": r"-2,1 for 1,-2 | 2.5 for 2\frac{1}{2} | \frac{5}{2} for 2\frac{1}{2} | 2 for \log 100",
}


def right(pair):
    answer, gold = pair.split(" for ")
    box = rf"\boxed{{{gold}}}"
    doc = {"solution": f"So it is ${box}$.", "answer": utils.normalize_final_answer(utils.remove_boxed(box))}
    response = f"Final Answer: The final answer is ${answer}$. I hope it is correct."
    return utils.process_results(doc, [response])["exact_match"] == 1


formulas = [pair.split(" is ")[0] for pair in READ.split(" | ")]
found = " | ".join(f"{formula} is {parse_latex(formula)}" for formula in formulas)
print("parse_latex:", found)
same = found == READ
for said, line in SEEN.items():
    found = " | ".join(pair for pair in line.split(" | ") if right(pair) == (said == "right"))
    print(f"{said}:", found)
    same &= found == line
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/lists.py" 2>/dev/null
