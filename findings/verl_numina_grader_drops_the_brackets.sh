#!/usr/bin/env bash
# verl 0.9.1: the grader of Numina's data drops the brackets of both sides: 2^{n}-1 is right for 2^{n-1}, and 2x+3 for 2(x+3).
# 20161 is right for 20160, and 0.5 and 5000 are for 50. An answer with two equations is wrong for itself.
#
# Guessed: it compares as PRM800K's grader does, from which it is taken, and is a bit more lenient with numbers; an answer is
# right for itself.
# Seen (2026-11-30, verl 0.9.1, prime_math, which default_compute_score takes for numina_olympiads, numina_amc_aime,
# numina_cn_k12 and three more data sources): what PRM800K's part takes for wrong is compared once more, first as numbers, up to
# a ten-thousandth and with a factor of 100 in either direction; then as texts without any ( ) { }. So an answer is right if it
# differs from the gold by its brackets alone, a common slip in algebra. The base of a number is cut off. Of a box only what is
# behind its last "=" is read, of the gold everything: "x=1, y=2" is right for the gold 2, and wrong for the gold "x=1, y=2". So
# wrong answers are rewarded in silence, in training and in validation alike. Grade with a parser: set
# reward.custom_reward_function to one that uses math-verify.
#
#   right, and should be wrong: 2x+3 for 2(x+3) | 2^{n}-1 for 2^{n-1} | x+1^2 for (x+1)^2 | \frac{1}{x+y} for \frac{1}{x}+y
#   right, and should be wrong: \sqrt{x+y} for \sqrt{x}+y | x^{2n} for x^{2}n | 20161 for 20160 | 0.5 for 50 | 5000 for 50
#   right, and should be wrong: 1011_2 for 1011_3 | x=1, y=2 for 2
#   wrong, and should be right: x=1, y=2 for x=1, y=2 | f(x)=x+1 for f(x)=x+1
#   wrong, and should be: 2x+4 for 2(x+3) | 2^{n}+1 for 2^{n-1} | 20163 for 20160 | 500 for 50 | 3 for 2
#   right, and should be: 2(x+3) for 2x+6 | \frac{5}{6} for \frac{1}{2}+\frac{1}{3} | \sqrt{18} for 3\sqrt{2} | 1,000 for 1000
#
# Exits with a status other than 0 if any of this differs. It runs verl's own files, but leaves out the __init__ of verl and
# of verl.utils, which import Ray.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5 sympy==1.14.0 pylatexenc==2.11
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/brackets.py" <<'PYTHON'
import sys
import sysconfig
import types
from pathlib import Path

for name in ("verl", "verl.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(Path(sysconfig.get_paths()["purelib"], *name.split(".")))]

from verl.utils.reward_score import default_compute_score

CASES = (
    (True, False, r"2x+3 for 2(x+3) | 2^{n}-1 for 2^{n-1} | x+1^2 for (x+1)^2 | \frac{1}{x+y} for \frac{1}{x}+y"),
    (True, False, r"\sqrt{x+y} for \sqrt{x}+y | x^{2n} for x^{2}n | 20161 for 20160 | 0.5 for 50 | 5000 for 50"),
    (True, False, "1011_2 for 1011_3 | x=1, y=2 for 2"),
    (False, True, "x=1, y=2 for x=1, y=2 | f(x)=x+1 for f(x)=x+1"),
    (False, False, "2x+4 for 2(x+3) | 2^{n}+1 for 2^{n-1} | 20163 for 20160 | 500 for 50 | 3 for 2"),
    (True, True, r"2(x+3) for 2x+6 | \frac{5}{6} for \frac{1}{2}+\frac{1}{3} | \sqrt{18} for 3\sqrt{2} | 1,000 for 1000"),
)
SAID = {True: "right", False: "wrong"}


def graded(case):
    answer, gold = case.split(" for ")
    return default_compute_score("numina_olympiads", f"Step 2: we put both together.\n\\boxed{{{answer}}}", gold) == 1


if __name__ == "__main__":
    changed = False
    for seen, should, cases in CASES:
        for case in cases.split(" | "):
            found = graded(case)
            changed |= found != seen
            print(f"{SAID[found]}, and should be{f' {SAID[should]}' if found != should else ''}: {case}", flush=True)
    sys.exit(changed)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/brackets.py"
