#!/usr/bin/env bash
# eval-protocol 0.3.33: math_reward reads three digits behind ####, so that 1259 is right for GSM8K's 1250; any of several boxes
# may be the right one; and a number in a box is right whatever stands behind it, but not with a comma in it.
#
# Guessed: math_reward reads "#### 1250" as GSM8K has it, takes one answer of a response, the last box, and compares numbers with
# what is left of rounding; 1,000 is 1000.
# Seen (2026-11-30, eval-protocol 0.3.33, math_reward as it is by default, on texts made here): behind ####, digits count up to
# the third unless commas follow, in the gold as in the response: every number from 1250 to 1259 and 125 is one number, and
# 1,250 is wrong for 1250. With a boxed gold a response is right if any of its boxes is: one that boxes 5 and then 7 is right for
# both. The tolerance of 0.001 is relative, for whole numbers, too: 2025 is right for 2024, and 1001 for 1000. In a box, letters
# behind the number do not count, so 2y is right for 2x and 3 minutes for 3 hours; and a right box with a comma, a sign before a
# fraction, \dfrac or \% is not read at all: 0. So on GSM8K and competition problems the reward is wrong on both sides. Ask for
# one box instead of ####, give the gold as a bare number and set tolerance=1e-9, or grade with a parser of mathematics.
#
#   right: #### 1259 for #### 1250 | #### 125 for #### 1250 | \boxed{5}, no: \boxed{7} for \boxed{5} | \boxed{2025} for
#     \boxed{2024} | \boxed{1001} for 1000 | \boxed{2y} for \boxed{2x} | \boxed{3 minutes} for \boxed{3 hours}
#   wrong: #### 1,250 for #### 1250 | \boxed{1,000} for 1000 | \boxed{-\frac{1}{2}} for -1/2 | \boxed{\dfrac{1}{2}} for 1/2 |
#     \boxed{50\%} for 50
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
from eval_protocol.rewards.math import math_reward  # noqa: E402

SEEN = {
    "right": r"""#### 1259 for #### 1250
#### 125 for #### 1250
\boxed{5}, no: \boxed{7} for \boxed{5}
\boxed{2025} for \boxed{2024}
\boxed{1001} for 1000
\boxed{2y} for \boxed{2x}
\boxed{3 minutes} for \boxed{3 hours}""",
    "wrong": r"""#### 1,250 for #### 1250
\boxed{1,000} for 1000
\boxed{-\frac{1}{2}} for -1/2
\boxed{\dfrac{1}{2}} for 1/2
\boxed{50\%} for 50""",
}


def score(said, gold):
    return math_reward(messages=[Message(role="assistant", content=said)], ground_truth=gold).score


cases = "\n".join(SEEN.values()).split("\n")
same = True
for (name, seen), wanted in zip(SEEN.items(), (1.0, 0.0), strict=True):
    found = [case for case in cases if score(*case.split(" for ")) == wanted]
    print(f"{name}: {' | '.join(found)}")
    same &= "\n".join(found) == seen
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/rewards.py"
