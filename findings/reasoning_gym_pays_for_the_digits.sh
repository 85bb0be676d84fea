#!/usr/bin/env bash
# reasoning-gym 0.1.25: in many tasks a wrong number that contains the right one gets half of the reward or more, and the
# right one followed by a line break gets no more than that.
#
# Guessed: a task whose answer is one number scores 1 for it and 0, or a small constant, for another number; white space does
# not count.
# Seen (2026-11-27, reasoning-gym 0.1.25): the scorer that tasks inherit returns the length of the right answer over the
# length of the response, if the response contains the answer. Ten times the answer, its negative, and the answer with a line
# break all get the same: 0.5 for one digit, 0.75 for three. The right number in a box gets 0.11 to 0.27. Over 20 problems of
# each of five tasks, a tenfold answer got 0.50 to 0.91. chain_sum, of the same library, strips white space first, and pays
# for the digits all the same. As a reward between 0 and 1 this teaches the policy to write digits around a guess. A label of
# "above 0" counts all of these as right; use "equal to 1" on the stripped text. The tasks boxnet, graph_color and
# propositional_logic have None as their answer: a column of their golds is empty.
#
#   gcd: answer 1.00, with a line break 0.50, negative 0.50, tenfold 0.50, in a box 0.11
#   count_primes: answer 1.00, with a line break 0.75, negative 0.75, tenfold 0.75, in a box 0.27
#   chain_sum: answer 1.00, with a line break 1.00, negative 0.75, tenfold 0.75, in a box 0.27
#   answers that are None: boxnet, graph_color, propositional_logic
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check reasoning-gym==0.1.25
cat >"$folder/scores.py" <<'PYTHON'
import sys

import reasoning_gym

WRITTEN = {
    "answer": "{}", "with a line break": "{}\n", "negative": "-{}", "tenfold": "{}0", "in a box": "\\boxed{{{}}}",
}
SEEN = {  # by the number of digits
    "gcd": (1, ["1.00", "0.50", "0.50", "0.50", "0.11"]),
    "count_primes": (3, ["1.00", "0.75", "0.75", "0.75", "0.27"]),
    "chain_sum": (3, ["1.00", "1.00", "0.75", "0.75", "0.27"]),
}
changed = False
for task, (digits, seen) in SEEN.items():
    problems = reasoning_gym.create_dataset(task, size=60, seed=1)
    problem = next(one for one in problems if one["answer"].isdigit() and len(one["answer"]) == digits)
    scores = [f"{problems.score_answer(form.format(problem['answer']), problem):.2f}" for form in WRITTEN.values()]
    print(f"{task}: " + ", ".join(f"{what} {score}" for what, score in zip(WRITTEN, scores)))
    changed |= scores != seen
empty = ["boxnet", "graph_color", "propositional_logic"]
found = [task for task in empty if all(one["answer"] is None for one in reasoning_gym.create_dataset(task, size=5, seed=1))]
print("answers that are None:", ", ".join(found))
sys.exit(changed or found != empty)
PYTHON
"$folder/venv/bin/python" "$folder/scores.py" 2>/dev/null
