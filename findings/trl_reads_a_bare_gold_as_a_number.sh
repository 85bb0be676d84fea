#!/usr/bin/env bash
# trl 1.16.0, math-verify 0.9.0: accuracy_reward reads a gold without dollar signs as a number in it: for the gold 2\sqrt{3} the
# answer 2\sqrt{3} is wrong, and 2 is right.
#
# Guessed: the gold may be bare LaTeX, as in the docstring's example, \frac{1}{3}: it is read whole, or not at all, and then its
# row is left out.
# Seen (2026-11-30, trl 1.16.0, math-verify 0.9.0; accuracy_reward on the answer in a box, and on the number in a box): a gold
# is searched for its answer like a response. Without dollar signs or a box only a fraction of two whole or decimal numbers
# counts as LaTeX; in anything else the search takes a number. So the right response gets 0, the one that says just that
# number gets 1, and the policy is trained towards it. In other golds it finds nothing, and their rows get no reward. Columns
# of bare answers are common, as "answer" in MATH-500. reasoning_accuracy_reward and the cosine reward read golds in the same
# way. Put each gold between dollar signs.
#
#   gold, reward for it, number that gets the reward; reward for it with dollar signs around the gold:
#   2\sqrt{3}: 0.0, 2; 1.0
#   12\pi: 0.0, 12; 1.0
#   10^{3}: 0.0, 10; 1.0
#   3x+1: 0.0, 3; 1.0
#   1-\sqrt{2}: 0.0, 1; 1.0
#   3\frac{1}{2}: 0.0, \frac{1}{2}; 1.0
#   2.5 \times 10^6: 0.0, 10^6; 1.0
#   [0, 1): 0.0, 1; 1.0
#   3, -5: 0.0, -5; 1.0
#   x^2+1: None, None; 1.0
#   \sqrt{2}: None, None; 1.0
#   \frac{\pi}{2}: None, None; 1.0
#   \frac{1}{3}: 1.0, \frac{1}{3}; 1.0
#
# Exits with a status other than 0 if any of this differs. What trl's package imports beside this is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile math-verify==0.9.0 latex2sympy2-extended==1.11.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps trl==1.16.0
cat >"$folder/golds.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("trl").submodule_search_locations[0]
stand_in("trl", __path__=[root])
stand_in("trl.rewards", __path__=[f"{root}/rewards"])
stand_in("trl.import_utils", is_math_verify_available=lambda: True)

from trl.rewards.accuracy_rewards import accuracy_reward

READ = {  # what gets the reward
    r"2\sqrt{3}": "2",
    r"12\pi": "12",
    r"10^{3}": "10",
    r"3x+1": "3",
    r"1-\sqrt{2}": "1",
    r"3\frac{1}{2}": r"\frac{1}{2}",
    r"2.5 \times 10^6": "10^6",
    r"[0, 1)": "1",
    r"3, -5": "-5",
    r"x^2+1": None,
    r"\sqrt{2}": None,
    r"\frac{\pi}{2}": None,
    r"\frac{1}{3}": r"\frac{1}{3}",
}


def reward(answer, gold):
    (value,) = accuracy_reward([[{"role": "assistant", "content": f"The answer is $\\boxed{{{answer}}}$."}]], [gold])
    return value


found = []
for gold, read in READ.items():
    rewarded = read if read is not None and reward(read, gold) == 1.0 else None
    found.append(f"{gold}: {reward(gold, gold)}, {rewarded}; {reward(gold, f'${gold}$')}")
SEEN = r"""2\sqrt{3}: 0.0, 2; 1.0
12\pi: 0.0, 12; 1.0
10^{3}: 0.0, 10; 1.0
3x+1: 0.0, 3; 1.0
1-\sqrt{2}: 0.0, 1; 1.0
3\frac{1}{2}: 0.0, \frac{1}{2}; 1.0
2.5 \times 10^6: 0.0, 10^6; 1.0
[0, 1): 0.0, 1; 1.0
3, -5: 0.0, -5; 1.0
x^2+1: None, None; 1.0
\sqrt{2}: None, None; 1.0
\frac{\pi}{2}: None, None; 1.0
\frac{1}{3}: 1.0, \frac{1}{3}; 1.0"""
print("gold, reward for it, number that gets the reward; reward for it with dollar signs around the gold:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/golds.py" 2>/dev/null
