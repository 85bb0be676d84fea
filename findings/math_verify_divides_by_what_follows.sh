#!/usr/bin/env bash
# math-verify 0.9.0: all that follows a slash goes into the denominator: 4/3 \pi r^3 is wrong for \frac{4}{3}\pi r^3, and right
# for \frac{4}{3\pi r^3}. \log is to the base 10.
#
# Guessed: a fraction with a slash is divided before it is multiplied, as in Python and on paper; \log without a base is \ln,
# as in sympy's parse_latex, or not known.
# Seen (2026-11-30, math-verify 0.9.0, latex2sympy2_extended 1.11.0, sympy 1.14.0): a product without a sign binds tighter than
# the slash, with a space or without, whatever stands there: a constant, a root, a bracket. With \cdot between, with
# \left(...\right) around the fraction and with \frac it is read as meant. Answer and gold are read alike, so what is written
# the same way is right, and a short test shows nothing. \log 2 is no \ln 2, and n\log n no n\ln n; \log 100 is 2. So a right
# answer gets the label of a wrong one because of a slash, and models that write \frac do better. Rewrite a number, a slash
# and a number into \frac before parsing, and say in the prompt which logarithm is meant.
#
#   wrong, and should be right: 4/3\pi for \frac{4\pi}{3} | 4/3 \pi r^3 for \frac{4}{3}\pi r^3
#   wrong, and should be right: 1/3 \pi r^2 for \frac{\pi r^2}{3} | 1/2\sqrt{3} for \frac{\sqrt{3}}{2}
#   wrong, and should be right: 2/3(x+1) for \frac{2(x+1)}{3} | 3/4 x for \frac{3x}{4}
#   right, and should be wrong: 4/3\pi for \frac{4}{3\pi} | 4/3 \pi r^3 for \frac{4}{3\pi r^3}
#   right, and should be wrong: 1/2\sqrt{3} for \frac{1}{2\sqrt{3}}
#   right, and should be: \frac43\pi for \frac{4\pi}{3} | 4/3\cdot\pi for \frac{4\pi}{3} | 4\pi/3 for \frac{4\pi}{3}
#   right, and should be: \left(4/3\right)\pi for \frac{4\pi}{3} | \sqrt{3}/2 for \frac{\sqrt{3}}{2}
#   to the base 10: \log 2 for \ln 2 is wrong | n\log n for n\ln n is wrong | \log 100 for 2 is right | \log e for 1 is wrong
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.9.3
cat >"$folder/slashes.py" <<'PYTHON'
import sys

from math_verify import parse, verify

CASES = (
    (False, True, r"4/3\pi for \frac{4\pi}{3} | 4/3 \pi r^3 for \frac{4}{3}\pi r^3 | 1/3 \pi r^2 for \frac{\pi r^2}{3}"),
    (False, True, r"1/2\sqrt{3} for \frac{\sqrt{3}}{2} | 2/3(x+1) for \frac{2(x+1)}{3} | 3/4 x for \frac{3x}{4}"),
    (True, False, r"4/3\pi for \frac{4}{3\pi} | 4/3 \pi r^3 for \frac{4}{3\pi r^3} | 1/2\sqrt{3} for \frac{1}{2\sqrt{3}}"),
    (True, True, r"\frac43\pi for \frac{4\pi}{3} | 4/3\cdot\pi for \frac{4\pi}{3} | 4\pi/3 for \frac{4\pi}{3}"),
    (True, True, r"\left(4/3\right)\pi for \frac{4\pi}{3} | \sqrt{3}/2 for \frac{\sqrt{3}}{2}"),
)
LOGARITHMS = {r"\log 2 for \ln 2": False, r"n\log n for n\ln n": False, r"\log 100 for 2": True, r"\log e for 1": False}
SAID = {True: "right", False: "wrong"}


def graded(case):
    answer, gold = case.split(" for ")
    return verify(parse(f"${gold}$"), parse(f"So it is $\\boxed{{{answer}}}$."))


if __name__ == "__main__":
    changed = False
    for seen, should, cases in CASES:
        for case in cases.split(" | "):
            found = graded(case)
            changed |= found != seen
            print(f"{SAID[found]}, and should be{f' {SAID[should]}' if found != should else ''}: {case}", flush=True)
    for case, seen in LOGARITHMS.items():
        found = graded(case)
        changed |= found != seen
        print(f"to the base 10: {case} is {SAID[found]}")
    sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/slashes.py"
