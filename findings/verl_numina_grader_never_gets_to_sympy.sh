#!/usr/bin/env bash
# verl 0.9.1: the grader of Numina's data never compares formulas with sympy: its code for it always raises, and the error is
# swallowed. x^{2}-1 is wrong for (x-1)(x+1), and 10^{3} for 1000.
#
# Guessed: an answer that its comparison of texts does not settle is parsed as LaTeX, and right if sympy simplifies the
# difference from the gold to 0, as its docstring says ("symbolic equal").
# Seen (2026-11-30, verl 0.9.1, sympy 1.14.0, antlr4-python3-runtime 4.11.1, with which sympy reads LaTeX; prime_math, which
# default_compute_score takes for six data sources named numina_...): each step is under "with timeout_limit(...)", but verl's
# timeout_limit is a decorator and no context manager. The TypeError is caught where errors of the parser are, both sides stay
# texts, and any two of them differ. What is left of sympy is PRM800K's part, which by design takes no power in braces, no
# fraction that is not reduced, and for an integer only an integer. So a right answer in another form than the gold's is
# wrong, in silence, and training rewards the gold's way of writing. Grade with a parser: set reward.custom_reward_function to
# one that uses math-verify.
#
#   equal for sympy, wrong for verl: x^{2}-1 = (x-1)(x+1) | a^{2}b = ba^{2} | 2^{n+1} = 2 \cdot 2^{n} | 10^{3} = 1000
#   equal for sympy, wrong for verl: \frac{a+b}{2} = \frac{b+a}{2} | \frac{1+\sqrt{5}}{2} = \frac{\sqrt{5}+1}{2}
#   equal for sympy, wrong for verl: \sqrt{2} = 2^{1/2} | \log_2 3 = \frac{\ln 3}{\ln 2} | 2^{10} = 1024
#   equal for sympy, right for verl: \sqrt{5}+2 = 2+\sqrt{5} | \frac{1}{\sqrt{2}} = \frac{\sqrt{2}}{2} | xy = yx
#   symbolic_equal("x+1", "1+x"): False
#   with timeout_limit(seconds=10): TypeError
#
# Exits with a status other than 0 if any of this differs. It runs verl's own files, but leaves out the __init__ of verl and
# of verl.utils, which import Ray.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5 sympy==1.14.0 pylatexenc==2.11 \
  antlr4-python3-runtime==4.11.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/formulas.py" <<'PYTHON'
import sys
import sysconfig
import types
from pathlib import Path

from sympy import simplify
from sympy.parsing.latex import parse_latex

for name in ("verl", "verl.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(Path(sysconfig.get_paths()["purelib"], *name.split(".")))]

from verl.utils.py_functional import timeout_limit
from verl.utils.reward_score import default_compute_score
from verl.utils.reward_score.prime_math.grader import symbolic_equal

CASES = (
    (False, r"x^{2}-1 = (x-1)(x+1) | a^{2}b = ba^{2} | 2^{n+1} = 2 \cdot 2^{n} | 10^{3} = 1000"),
    (False, r"\frac{a+b}{2} = \frac{b+a}{2} | \frac{1+\sqrt{5}}{2} = \frac{\sqrt{5}+1}{2}"),
    (False, r"\sqrt{2} = 2^{1/2} | \log_2 3 = \frac{\ln 3}{\ln 2} | 2^{10} = 1024"),
    (True, r"\sqrt{5}+2 = 2+\sqrt{5} | \frac{1}{\sqrt{2}} = \frac{\sqrt{2}}{2} | xy = yx"),
)


def graded(answer, gold):
    return default_compute_score("numina_olympiads", f"Step 2: we put both together.\n\\boxed{{{answer}}}", gold) == 1


def main():
    changed = False
    for seen, cases in CASES:
        for case in cases.split(" | "):
            answer, gold = case.split(" = ")
            equal = simplify(parse_latex(answer) - parse_latex(gold)) == 0
            found = graded(answer, gold)
            changed |= found != seen or graded(gold, answer) != seen or not equal
            print(f"{'equal' if equal else 'not equal'} for sympy, {'right' if found else 'wrong'} for verl: {case}", flush=True)
    found = symbolic_equal("x+1", "1+x", 1e-4)
    print(f'symbolic_equal("x+1", "1+x"): {found}')
    try:
        with timeout_limit(seconds=10):
            error = "none"
    except Exception as raised:
        error = type(raised).__name__
    print(f"with timeout_limit(seconds=10): {error}")
    return changed or found or error != "TypeError"


if __name__ == "__main__":
    sys.exit(main())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/formulas.py"
