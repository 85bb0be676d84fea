#!/usr/bin/env bash
# codebleu 0.7.0: a text that shares no data flow with the reference gets the whole part of the score for data flow: an empty
# one scores 0.25, and a right program less than that. One text's score differs from process to process.
#
# Guessed: no code scores 0, and less in common with the reference never scores more; the same texts have the same score.
# Seen (2026-11-30, codebleu 0.7.0, tree-sitter 0.22.3, tree-sitter-python 0.21.0, Python programs, the default weights): the
# score is the mean of four parts, but a data flow of 0 is counted as 1. So an empty text, a sentence and "pass" score 0.25;
# the same function by sum() scores 0.09, since it has some of the reference's data flow. The four parts that are returned
# beside the score are the true ones. The score itself, as a reward, pays a quarter for giving up, and pulls away from short
# solutions; as an evaluation, models that write nothing get 25 of 100. A reference of one call has no data flow at all: the
# same text scores 0.56, as its few tokens have no pairs to match. Where names differ, the data flow is compared in the order
# of a set, which Python draws anew in each process: the reference under other names scores 0.64 or 0.67. Take the mean of the
# parts, and set PYTHONHASHSEED.
#
#   reference: a loop that adds up a list
#   the reference: 1.00, parts 1.00 1.00 1.00 1.00
#   other names: 0.64, parts 0.32 0.35 1.00 0.89
#   the same by sum(): 0.09, parts 0.01 0.03 0.08 0.22
#   return 0: 0.28, parts 0.01 0.03 0.08 0.00
#   pass: 0.25, parts 0.00 0.00 0.00 0.00
#   a sentence: 0.25, parts 0.00 0.00 0.00 0.00
#   nothing: 0.25, parts 0.00 0.00 0.00 0.00
#   print(1) for print(1): 0.56, parts 0.18 0.04 1.00 0.00
#   other names, PYTHONHASHSEED=1: 0.67, parts 0.32 0.35 1.00 1.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check codebleu==0.7.0 tree-sitter==0.22.3 \
  tree-sitter-python==0.21.0
cat >"$folder/programs.py" <<'PYTHON'
import os
import subprocess
import sys

from codebleu import calc_codebleu

LOOP = "def f(xs):\n    total = 0\n    for x in xs:\n        total = total + x\n    return total"
CASES = {
    "the reference": LOOP,
    "other names": LOOP.replace("total", "t").replace("xs", "v"),
    "the same by sum()": "def f(xs):\n    return sum(xs)",
    "return 0": "def f(xs):\n    return 0",
    "pass": "pass",
    "a sentence": "I do not know.",
    "nothing": "",
}
PARTS = ("ngram_match_score", "weighted_ngram_match_score", "syntax_match_score", "dataflow_match_score")


def line(what, reference, prediction):
    scores = calc_codebleu([reference], [prediction], lang="python")
    return f"{what}: {scores['codebleu']:.2f}, parts {' '.join(f'{scores[part]:.2f}' for part in PARTS)}"


if os.environ["PYTHONHASHSEED"] == "1":
    print(line("other names, PYTHONHASHSEED=1", LOOP, CASES["other names"]))
    sys.exit()
lines = [line(what, LOOP, program) for what, program in CASES.items()]
lines.append(line("print(1) for print(1)", "print(1)", "print(1)"))
again = [sys.executable, __file__]
lines.append(subprocess.run(again, env={"PYTHONHASHSEED": "1"}, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
SEEN = """\
the reference: 1.00, parts 1.00 1.00 1.00 1.00
other names: 0.64, parts 0.32 0.35 1.00 0.89
the same by sum(): 0.09, parts 0.01 0.03 0.08 0.22
return 0: 0.28, parts 0.01 0.03 0.08 0.00
pass: 0.25, parts 0.00 0.00 0.00 0.00
a sentence: 0.25, parts 0.00 0.00 0.00 0.00
nothing: 0.25, parts 0.00 0.00 0.00 0.00
print(1) for print(1): 0.56, parts 0.18 0.04 1.00 0.00
other names, PYTHONHASHSEED=1: 0.67, parts 0.32 0.35 1.00 1.00"""
found = "\n".join(lines)
print("reference: a loop that adds up a list")
print(found)
sys.exit(found != SEEN)
PYTHON
PYTHONHASHSEED=0 "$folder/venv/bin/python" "$folder/programs.py" 2>/dev/null
