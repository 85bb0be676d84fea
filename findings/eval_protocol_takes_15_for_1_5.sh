#!/usr/bin/env bash
# eval-protocol 0.3.33: accuracy_reward takes 15 for 1.5 and 12 for -12, gives 17 half of the reward where 18 is right, and reads
# the first number behind an equals sign, not the boxed one: a right response that shows its work gets 0, a wrong one 1.
#
# Guessed: accuracy_reward reads the answer at the end, boxed or not, and compares numbers: equal ones are right, others wrong.
# Seen (2026-11-30, eval-protocol 0.3.33, accuracy_reward as it is by default, on texts made here): before it compares, it takes
# all points out, so that 3.5 and 35 are one number. If the gold has any other sign than digits and points, what is a part of it
# is right: 12 for -12, 2 for 1/2, 1 and 0 for 1,000. Whatever begins with 314 is pi, and 3149 right for 314. Numbers near the
# gold are right in part: 17 and 19 get 0.5 for 18, 205 gets 0.9 for 204, and 1999 gets 1.0 for 2000. The answer is the first
# number right behind "answer is" or, if there is none, behind the first equals sign, in the work, too; a box is no sign of an
# answer, and "1,000" is 1. In RL that pays for guesses in the right region and for leaving the work out. Pass an extract_fn and
# a compare_fn of your own, or grade with a parser of mathematics.
#
#   1.0: 15 for 1.5 | 3.5 for 35 | 12 for -12 | 2 for 1/2 | 11/2 for 1/2 | 0 for 1,000 | 3149 for 314 | 1999 for 2000
#   0.9: 205 for 204
#   0.5: 17 for 18 | 19 for 18
#   0.0: 1,000 for 1000 | 4.1 for 4
#   16 - 3 - 4 = 9 eggs. 9 * 2 = 18. The answer is $18$.: 0.0 for 18 | 1.0 for 9
#   So x = 3 and y = 4. Their sum is \boxed{7}: 0.0 for 7 | 1.0 for 3
#
# Exits with a status other than 0 if any of this differs. It runs the package's own function; only the imports of all of the
# package at once are left out, to need fewer packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==2.54.0 pydantic==2.14.4 mcp==1.30.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps eval-protocol==0.3.33
cat >"$folder/rewards.py" <<'PYTHON'
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

root = Path(importlib.util.find_spec("eval_protocol").origin).parent
for name, place in (("eval_protocol", root), ("eval_protocol.rewards", root / "rewards")):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(place)]

from eval_protocol.models import Message  # noqa: E402
from eval_protocol.rewards.accuracy import accuracy_reward  # noqa: E402

RIGHT = "15 for 1.5 | 3.5 for 35 | 12 for -12 | 2 for 1/2 | 11/2 for 1/2 | 0 for 1,000 | 3149 for 314 | 1999 for 2000"
NUMBERS = {1.0: RIGHT, 0.9: "205 for 204", 0.5: "17 for 18 | 19 for 18", 0.0: "1,000 for 1000 | 4.1 for 4"}
TEXTS = {
    "16 - 3 - 4 = 9 eggs. 9 * 2 = 18. The answer is $18$.": "0.0 for 18 | 1.0 for 9",
    "So x = 3 and y = 4. Their sum is \\boxed{7}": "0.0 for 7 | 1.0 for 3",
}


def reward(said, gold):
    messages = [Message(role="assistant", content=text) for text in (said, gold)]
    return accuracy_reward(messages=messages[:1], ground_truth=messages[1:]).score


same = True
for score, seen in NUMBERS.items():
    cases = [case.split(" for ") for cases in NUMBERS.values() for case in cases.split(" | ")]
    found = " | ".join(f"{said} for {gold}" for said, gold in cases if reward(f"The answer is {said}", gold) == score)
    print(f"{score}: {found}")
    same &= found == seen
for text, seen in TEXTS.items():
    golds = [case.split(" for ")[1] for case in seen.split(" | ")]
    found = " | ".join(f"{reward(text, gold)} for {gold}" for gold in golds)
    print(f"{text}: {found}")
    same &= found == seen
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/rewards.py"
