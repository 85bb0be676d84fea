#!/usr/bin/env bash
# verl 0.9.1: the grader of programs fails right programs for sys.stdin.buffer, open(0), exit(), quit(), a global statement or
# sys.stdout.buffer.
#
# Guessed: a program that prints what is expected, when python3 runs it with the test's input, gets the whole reward.
# Seen (2026-11-30, verl 0.9.1, prime_code, which grades data sources that are named codecontests, apps, codeforces or taco if
# no sandbox is given; Python 3.11; each program below prints 3 for the input 3 as a script of its own): the program becomes
# the body of a function in a process whose standard streams are replaced by objects that hold text. These have no buffer,
# which fast programs in such contests read from; open is not the replaced one; exit and quit are None; and a variable that a
# function calls global is none. Reading by input() or sys.stdin and leaving by sys.exit() pass. The reward is 0, as of a
# wrong answer, so training teaches the style, and a pass rate is too low by as much as a model writes the other one. Grade
# with a sandbox that runs the program as it is.
#
#   right: input() | sys.stdin | sys.stdin.read() | sys.exit() | main guard
#   wrong: sys.stdin.buffer | open(0) | exit() | quit() | global | sys.stdout.buffer
#
# Exits with a status other than 0 if any of this differs. It runs verl's own files.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1 numpy==2.3.5
cat >"$folder/programs.py" <<'PYTHON'
import importlib.util
import subprocess
import sys
import sysconfig
from pathlib import Path

package = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/prime_code")
spec = importlib.util.spec_from_file_location("prime_code", package / "__init__.py")
prime_code = sys.modules["prime_code"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prime_code)

GLOBAL = "n = 0\ndef read():\n    global n\n    n = int(input())\nread()\nprint(n)"
PROGRAMS = {
    "right": {
        "input()": "print(int(input()))",
        "sys.stdin": "import sys\nfor line in sys.stdin:\n    print(int(line))",
        "sys.stdin.read()": "import sys\nprint(int(sys.stdin.read()))",
        "sys.exit()": "import sys\nprint(int(input()))\nsys.exit()",
        "main guard": "def main():\n    print(int(input()))\nif __name__ == '__main__':\n    main()",
    },
    "wrong": {
        "sys.stdin.buffer": "import sys\nprint(int(sys.stdin.buffer.readline()))",
        "open(0)": "print(int(open(0).read()))",
        "exit()": "print(int(input()))\nexit()",
        "quit()": "print(int(input()))\nquit()",
        "global": GLOBAL,
        "sys.stdout.buffer": "import sys\nsys.stdout.buffer.write(input().encode())",
    },
}


def right(program):
    """Whether the program prints what is expected as a script of its own."""
    script = subprocess.run([sys.executable, "-c", program], input="3\n", capture_output=True, text=True, check=True)
    return script.stdout.strip() == "3"


def rewarded(program):
    tests = {"inputs": ["3\n"], "outputs": ["3\n"]}
    return prime_code.compute_score(f"```python\n{program}\n```", tests, continuous=True)[0] == 1


if __name__ == "__main__":
    programs = {name: program for side in PROGRAMS.values() for name, program in side.items()}
    assert all(right(program) for program in programs.values())
    rewards = {name: rewarded(program) for name, program in programs.items()}
    same = True
    for said, expected in (("right", True), ("wrong", False)):
        found = [name for name, reward in rewards.items() if reward == expected]
        print(f"{said}:", " | ".join(found))
        same &= found == list(PROGRAMS[said])
    sys.exit(not same)
PYTHON
OPENBLAS_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/programs.py"
