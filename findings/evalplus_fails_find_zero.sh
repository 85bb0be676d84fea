#!/usr/bin/env bash
# evalplus 0.3.1: HumanEval's find_zero fails whatever the solution; behind a test that expects a float, wrong integers pass;
# and a few tasks of MBPP take almost anything.
#
# Guessed: a right solution passes each task; integers are compared exactly; MBPP's tests want what its solutions return.
# Seen (2026-11-30, evalplus 0.3.1, the checker that evalplus.evaluate calls, on solutions and tests made here): find_zero has
# a check of its own, which does not count the tests that it passes; then too few are counted. So pass@1 on HumanEval and
# HumanEval+ ends at 163 of 164. The first expected float turns a tolerance on for all tests behind it: relative to the
# number, so that 100000001 passes for 100000000. In a list of lists, a dict or beside an integer a float must be exact. Eight
# tasks of MBPP compare sets, so that repeats pass; three take any value but None; are_equivalent takes all. These labels are
# the rewards where evalplus is the verifier. Take find_zero out or check it apart, and compare integers before.
#
#   find_zero by bisection: fail
#   100000001 for 100000000: fail, behind a float: pass
#   [0.1 + 0.2] for [0.3]: pass
#   [[0.1 + 0.2]] for [[0.3]]: fail
#   [1, 0.1 + 0.2] for [1, 0.3]: fail
#   MBPP similar_elements, (4, 4, 5) for (4, 5): pass
#   MBPP check_str, "no" for True: pass
#   MBPP are_equivalent, 7 for False: pass
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.3.5 psutil==7.2.2
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps evalplus==0.3.1
cat >"$folder/checked.py" <<'PYTHON'
import sys

from evalplus.eval import untrusted_check

BISECTION = """
def find_zero(xs):
    def poly(x):
        return sum(factor * x**power for power, factor in enumerate(xs))

    low, high = -1.0, 1.0
    while poly(low) * poly(high) > 0:
        low, high = 2 * low, 2 * high
    while high - low > 1e-10:
        middle = (low + high) / 2
        if poly(middle) * poly(low) > 0:
            low = middle
        else:
            high = middle
    return low
"""


def check(dataset, name, program, inputs, expected, tolerance=0):
    seconds = [0.1] * len(inputs)
    return untrusted_check(dataset, program, inputs, name, expected, tolerance, seconds, fast_check=True)[0]


def one(value, expected):
    return check("humaneval", "f", f"def f():\n    return {value}", [[]], [expected])


def behind_a_float(value, expected):
    program = f"def f(first):\n    return 0.5 if first else {value}"
    return check("humaneval", "f", program, [[True], [False]], [0.5, expected])


def mbpp(name, value, expected):
    return check("mbpp", name, f"def {name}(*given):\n    return {value}", [[1]], [expected])


if __name__ == "__main__":
    lines = [
        "find_zero by bisection: " + check("humaneval", "find_zero", BISECTION, [[[1, 2]]], [-0.5], 1e-6),
        f"100000001 for 100000000: {one(100000001, 100000000)}, behind a float: {behind_a_float(100000001, 100000000)}",
        f"[0.1 + 0.2] for [0.3]: {one([0.1 + 0.2], [0.3])}",
        f"[[0.1 + 0.2]] for [[0.3]]: {one([[0.1 + 0.2]], [[0.3]])}",
        f"[1, 0.1 + 0.2] for [1, 0.3]: {one([1, 0.1 + 0.2], [1, 0.3])}",
        f"MBPP similar_elements, (4, 4, 5) for (4, 5): {mbpp('similar_elements', (4, 4, 5), (4, 5))}",
        f"MBPP check_str, \"no\" for True: {mbpp('check_str', repr('no'), True)}",
        f"MBPP are_equivalent, 7 for False: {mbpp('are_equivalent', 7, False)}",
    ]
    SEEN = """\
find_zero by bisection: fail
100000001 for 100000000: fail, behind a float: pass
[0.1 + 0.2] for [0.3]: pass
[[0.1 + 0.2]] for [[0.3]]: fail
[1, 0.1 + 0.2] for [1, 0.3]: fail
MBPP similar_elements, (4, 4, 5) for (4, 5): pass
MBPP check_str, "no" for True: pass
MBPP are_equivalent, 7 for False: pass"""
    found = "\n".join(lines)
    print(found)
    sys.exit(found != SEEN)
PYTHON
OPENBLAS_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/checked.py"
