#!/usr/bin/env bash
# oumi 0.9: its Countdown reward takes a decimal point, a power and a whole division for steps: 2.5*4 is right with the numbers
# 2, 5 and 4; and a right answer with a line break behind or in it gets 0. Its letter counting punishes a box that comes twice.
#
# Guessed: countdown reads the last <answer> of a response and lets through + - * / on the given numbers; count_letters takes the
# last box, and gives a wrong count less than a right one.
# Seen (2026-11-30, oumi 0.9, its registered functions on responses made here): countdown takes the digits between other signs
# for numbers, so 2.5 uses up 2 and 5, .5*.2 makes 0.1 of them, and ** and // are let through: targets are reached by steps that
# the game does not have, and RL finds them. It looks at the last line of the response alone: <answer>2*5</answer> with a line
# break or a word in a line behind it, or on lines of its own, gets 0, and so does "2*5 = 10". count_letters gives -3 if a
# response has two boxes, equal or not, and -1.9 for a count that is nine off: saying the right answer twice is worse than any
# wrong one. Take the last <answer> of the whole response yourself, and check the signs before; let one box through of equal ones.
#
#   countdown: 1 for 2.5*4 = 10 from 2 5 4 | .5*.2 = 0.1 from 5 2 | 2**5 = 32 from 2 5 | 7//2 = 3 from 7 2
#   countdown, 2*5 = 10 from 2 5: 1.0 <answer>2*5</answer> | 0 <answer>2*5</answer>\n | 0 <answer>2*5</answer>\nDone. |
#     0 <answer>\n2*5\n</answer> | 0.0 <answer>2*5 = 10</answer>
#   count_letters, 3 is right: 0.0 \boxed{3} | -3.0 So \boxed{3}. The answer is \boxed{3}. | -1.9 \boxed{12}
#
# Exits with a status other than 0 if any of this differs. It runs oumi's own files; its registry is a stand-in, to need no torch.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps oumi==0.9
cat >"$folder/rewards.py" <<'PYTHON'
import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

place = Path(importlib.util.find_spec("oumi").origin).parent / "datasets/grpo/rewards"
registry = ModuleType("oumi.core.registry")
registry.RegistryType = SimpleNamespace(REWARD_FUNCTION=None)
registry.register = lambda *_: lambda function: function
sys.modules.update({"oumi": ModuleType("oumi"), "oumi.core": ModuleType("oumi.core"), registry.__name__: registry})
countdown = runpy.run_path(str(place / "countdown_rewards.py"))["countdown_reward"]
letters = runpy.run_path(str(place / "count_letters_rewards.py"))["_count_letters"]

STEPS = "2.5*4 = 10 from 2 5 4 | .5*.2 = 0.1 from 5 2 | 2**5 = 32 from 2 5 | 7//2 = 3 from 7 2"
LAYOUTS = {
    "<answer>2*5</answer>": "1.0",
    "<answer>2*5</answer>\n": "0",
    "<answer>2*5</answer>\nDone.": "0",
    "<answer>\n2*5\n</answer>": "0",
    "<answer>2*5 = 10</answer>": "0.0",
}
BOXES = {"\\boxed{3}": "0.0", "So \\boxed{3}. The answer is \\boxed{3}.": "-3.0", "\\boxed{12}": "-1.9"}


def reward(said, target, numbers):
    return countdown("countdown", said, {"target": target, "numbers": numbers}, {})


def shown(scores):
    return " | ".join(f"{score} {said}" for said, score in scores.items()).replace("\n", "\\n")


taken = []
for step in STEPS.split(" | "):
    term, _, target, _, *numbers = step.split(" ")
    if reward(f"<answer>{term}</answer>", float(target), [int(number) for number in numbers]) == 1:
        taken.append(step)
layouts = {said: str(reward(said, 10, [2, 5])) for said in LAYOUTS}
boxes = {said: f"{letters([[{'content': said}]], [3])[0]:.1f}" for said in BOXES}
print("countdown: 1 for", " | ".join(taken))
print("countdown, 2*5 = 10 from 2 5:", shown(layouts))
print("count_letters, 3 is right:", shown(boxes))
sys.exit(not (" | ".join(taken) == STEPS and layouts == LAYOUTS and boxes == BOXES))
PYTHON
"$folder/venv/bin/python" "$folder/rewards.py"
