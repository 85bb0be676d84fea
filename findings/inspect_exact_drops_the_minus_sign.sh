#!/usr/bin/env bash
# inspect-ai 0.3.285: exact() and f1() drop the minus sign: -5 is right for 5, and (1,2) for 12. The gold "A" is wrong for
# itself.
#
# Guessed: exact() compares numbers as numbers, as 3.50 for 3.5 and 1.5e3 for 1500 suggest, and a text is right for itself.
# Seen (2026-11-30, inspect-ai 0.3.285): a text is split at spaces and at hyphens, so that a minus sign is gone before a number
# is looked for; of what is no number alone, every punctuation mark is deleted: 1/2 is 12, 2^10 is 210, x>2 is x<2. Then the
# words a, an and the go. A gold of which nothing is left is skipped, so the letter A as the answer of a question with four
# choices, and the blood type A, can never be right. f1() does all of this, too (below, right is a score of 1). Accuracies on
# data with numbers are wrong in silence. Take match(numeric=True) or math() for numbers, which have surprises of their own (see
# inspect_*.sh here), and choice() or answer("letter") for letters.
#
#   exact() and f1():
#   right, and should be wrong: -5 for 5 | 3.5 for -3.5 | -7 dollars for 7 dollars | 12 for 1/2 | 2^10 for 210 | (1,2) for 12
#   right, and should be wrong: (-1,2) for (1,2) | x>2 for x<2 | <5 for >5 | 5! for 5 | C++ for C
#   wrong, and should be right: A for A | the for The
#   right, and should be: 3.50 for 3.5 | 1.5e3 for 1500 | 1,000 for 1000 | B for B
#   wrong, and should be: 6 for 5 | 35 for 3.5 | C for B
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
cat >"$folder/signs.py" <<'PYTHON'
import asyncio
import sys

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Target, exact, f1
from inspect_ai.solver import TaskState

CASES = (
    (True, False, "-5 for 5 | 3.5 for -3.5 | -7 dollars for 7 dollars | 12 for 1/2 | 2^10 for 210 | (1,2) for 12"),
    (True, False, "(-1,2) for (1,2) | x>2 for x<2 | <5 for >5 | 5! for 5 | C++ for C"),
    (False, True, "A for A | the for The"),
    (True, True, "3.50 for 3.5 | 1.5e3 for 1500 | 1,000 for 1000 | B for B"),
    (False, False, "6 for 5 | 35 for 3.5 | C for B"),
)
SAID = {True: "right", False: "wrong"}


def scores(case):
    """What exact() and f1() say of the answer, each as a truth."""
    answer, gold = case.split(" for ")
    output = ModelOutput.from_content("none", answer)
    state = TaskState(model="none", sample_id=1, epoch=1, input="?", messages=[], output=output)
    by_exact, by_f1 = (asyncio.run(scorer(state, Target(gold))).value for scorer in (exact(), f1()))
    return by_exact == "C", by_f1 == 1.0


changed = False
print("exact() and f1():")
for seen, should, cases in CASES:
    for case in cases.split(" | "):
        found, by_f1 = scores(case)
        changed |= found != seen or by_f1 != seen
        print(f"{SAID[found]}, and should be{f' {SAID[should]}' if found != should else ''}: {case}")
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/signs.py"
