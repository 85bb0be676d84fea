#!/usr/bin/env bash
# verl 0.9.1: the grader of Search-R1's data takes all punctuation out of answers and numbers: 35 million is right for 3.5
# million, -40 for 40, and an empty answer for the gold "A".
#
# Guessed: exact match lets case, articles and punctuation around a text differ, but numbers with another point or sign are
# other numbers, and an empty answer is wrong.
# Seen (2026-11-30, verl 0.9.1, search_r1_like_qa_em, which default_compute_score takes for searchR1_nq, searchR1_triviaqa,
# searchR1_hotpotqa and four more data sources): it deletes every sign of string.punctuation, wherever it is, and then the
# words a, an and the; what is left is compared as a text. So signs, points, slashes and colons of numbers are gone, 2-1 is 21,
# and C# is C++. Where nothing is left of the gold, an answer of which nothing is left is right. Signs that are not in ASCII
# stay: a curved apostrophe or a dash as Wikipedia has them makes a right answer wrong, and so do 3.50 for 3.5 and a missing
# accent. Answers with numbers need a reward of their own that compares numbers, before the text.
#
#   right, and should be wrong: 35 million for 3.5 million | 35 for 3.5 | -40 for 40 | 12 for 1/2 | 21 for 2-1 | 10 for 1:0
#   right, and should be wrong: C# for C++ | nothing for A | The for A
#   wrong, and should be right: 3.50 for 3.5 | O’Neill for O'Neill | 2–1 for 2-1 | Beyonce for Beyoncé
#   right, and should be: 1,000 for 1000 | the Who for The Who | $5 for 5 | o'neill for O'Neill
#   wrong, and should be: 36 for 3.5 | 41 for 40 | nothing for B
#
# Exits with a status other than 0 if any of this differs. It runs verl's own file.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1
cat >"$folder/points.py" <<'PYTHON'
import contextlib
import importlib.util
import io
import sys
import sysconfig
from pathlib import Path

file = Path(sysconfig.get_paths()["purelib"], "verl/utils/reward_score/search_r1_like_qa_em.py")
spec = importlib.util.spec_from_file_location("search_r1_like_qa_em", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

CASES = (
    (True, False, "35 million for 3.5 million | 35 for 3.5 | -40 for 40 | 12 for 1/2 | 21 for 2-1 | 10 for 1:0"),
    (True, False, "C# for C++ | nothing for A | The for A"),
    (False, True, "3.50 for 3.5 | O’Neill for O'Neill | 2–1 for 2-1 | Beyonce for Beyoncé"),
    (True, True, "1,000 for 1000 | the Who for The Who | $5 for 5 | o'neill for O'Neill"),
    (False, False, "36 for 3.5 | 41 for 40 | nothing for B"),
)
SAID = {True: "right", False: "wrong"}


def graded(case):
    answer, gold = case.split(" for ")
    response = f"<think>I have found it.</think>\n<answer>{answer.replace('nothing', '')}</answer>"
    with contextlib.redirect_stdout(io.StringIO()):  # one response in 64 is printed
        return module.compute_score(response, {"target": [gold]}) == 1


changed = False
for seen, should, cases in CASES:
    for case in cases.split(" | "):
        found = graded(case)
        changed |= found != seen
        print(f"{SAID[found]}, and should be{f' {SAID[should]}' if found != should else ''}: {case}")
sys.exit(changed)
PYTHON
PYTHONIOENCODING=utf-8 "$folder/venv/bin/python" "$folder/points.py"
