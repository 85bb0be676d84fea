#!/usr/bin/env bash
# verl 0.9.1: the grader of programs takes 1000008 for 1000007 if any other line of the output is negative or has a decimal
# point, and 3 for the list [3, 5].
#
# Guessed: integers are compared digit for digit and only decimals with a tolerance; what a function returns must equal what
# is expected.
# Seen (2026-11-30, verl 0.9.1, prime_code, which grades data sources that are named codecontests, apps, codeforces or taco if
# no sandbox is given): unless every line is made of digits alone, all lines are compared as floats that may differ by a
# hundred-thousandth of the number. A minus is no digit, so one negative line makes every other number of a test inexact:
# -1000008 passes for -1000007, and -1, 100000900 for -1, 100000000. If a line has two numbers, texts are compared again, and
# then a decimal must have the very digits. Of a function that should return a list, the first item alone passes. So programs
# that count wrongly are rewarded where the answers are large and signed. Grade with a sandbox that compares tokens, and give
# only decimals a tolerance.
#
#   printed, expected: passes
#   1, 1000008 for 1, 1000007: False
#   -1, 1000008 for -1, 1000007: True
#   0.5, 1000008 for 0.5, 1000007: True
#   -1000008 for -1000007: True
#   -1, 100000900 for -1, 100000000: True
#   -1 1000008 for -1 1000007: False
#   0.333333333 for 0.33333333: True
#   0.333333333 0.5 for 0.33333333 0.5: False
#   returned, expected: passes
#   3 for [3, 5]: True
#   [3] for [[3], [5]]: True
#   5 for [3, 5]: False
#
# Exits with a status other than 0 if any of this differs. It runs verl's own files; a comma stands for a new line.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1 numpy==2.3.5
cat >"$folder/programs.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from pathlib import Path

package = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/prime_code")
spec = importlib.util.spec_from_file_location("prime_code", package / "__init__.py")
prime_code = sys.modules["prime_code"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prime_code)

PRINTED = {
    ("1, 1000008", "1, 1000007"): False,
    ("-1, 1000008", "-1, 1000007"): True,
    ("0.5, 1000008", "0.5, 1000007"): True,
    ("-1000008", "-1000007"): True,
    ("-1, 100000900", "-1, 100000000"): True,
    ("-1 1000008", "-1 1000007"): False,
    ("0.333333333", "0.33333333"): True,
    ("0.333333333 0.5", "0.33333333 0.5"): False,
}
RETURNED = {("3", "[3, 5]"): True, ("[3]", "[[3], [5]]"): True, ("5", "[3, 5]"): False}


def passes(program, expected, **function):
    tests = {"inputs": ["0"], "outputs": [expected], **function}
    return prime_code.compute_score(f"```python\n{program}\n```", tests, continuous=True)[0] == 1


if __name__ == "__main__":
    same = True
    print("printed, expected: passes")
    for (printed, expected), seen in PRINTED.items():
        text = printed.replace(", ", "\n")
        found = passes(f"print({text!r})", expected.replace(", ", "\n"))
        print(f"{printed} for {expected}: {found}")
        same &= found == seen
    print("returned, expected: passes")
    for (returned, expected), seen in RETURNED.items():
        found = passes(f"def answer(given):\n    return {returned}", expected, fn_name="answer")
        print(f"{returned} for {expected}: {found}")
        same &= found == seen
    sys.exit(not same)
PYTHON
OPENBLAS_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/programs.py"
