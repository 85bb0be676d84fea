#!/usr/bin/env bash
# reasoning-gym 0.1.25: puzzle24 takes any four numbers that make 24, game_of_life_halting any text, and coin_flip the answer 0:
# one answer gets the whole reward in all or nearly all of their problems.
#
# Guessed: puzzle24 wants the four numbers of its problem; game_of_life_halting wants its True or False; coin_flip pays 1 for
# the probability and less for another; number_sorting wants the given numbers, prime_factorization the primes.
# Seen (2026-11-30, reasoning-gym 0.1.25; create_dataset and score_answer, settings as delivered, 200 problems each): puzzle24
# looks at the size of the numbers, not at the problem's, and drops the fraction of the result, so 24.9 is 24.
# game_of_life_halting compares the truth values of two texts, and every text but the empty one is true. coin_flip counts how
# many characters agree, over the shorter text, so 0 has all in common with 0.375. number_sorting lets each number differ by
# 1. prime_factorization pays half for the number itself. A policy finds such an answer, and its reward then says that the
# task is solved. countdown, of the same library, compares the numbers. Grade these tasks with checks of your own, and look
# at the answers of a task whose reward comes to 1.
#
#   mean of the scores, and how many of 200 are 1:
#   puzzle24, 6*4*1*1: 1.00, 200
#   puzzle24, 5*5-1/10: 1.00, 200
#   countdown, 6*4*1*1: 0.05, 0
#   game_of_life_halting, I cannot tell: 1.00, 200
#   coin_flip, 0: 0.94, 187
#   number_sorting, the right list with 0.9 added to each: 1.00, 200
#   prime_factorization, the number itself, of those that are no primes: 0.50, 0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile reasoning-gym==0.1.25
cat >"$folder/constant.py" <<'PYTHON'
import json
import sys

import reasoning_gym

SIZE = 200


def always(answer):
    return lambda problem: answer


def shifted(problem):
    return json.dumps([str(float(number) + 0.9) for number in problem["metadata"]["sorted_numbers"]])


def itself(problem):
    return str(problem["metadata"]["number"]) if "×" in problem["answer"] else None


ANSWERS = [
    ("puzzle24", "6*4*1*1", always("6*4*1*1")),
    ("puzzle24", "5*5-1/10", always("5*5-1/10")),
    ("countdown", "6*4*1*1", always("6*4*1*1")),
    ("game_of_life_halting", "I cannot tell", always("I cannot tell")),
    ("coin_flip", "0", always("0")),
    ("number_sorting", "the right list with 0.9 added to each", shifted),
    ("prime_factorization", "the number itself, of those that are no primes", itself),
]
found = []
for task, said, answer in ANSWERS:
    problems = reasoning_gym.create_dataset(task, size=SIZE, seed=1)
    answered = [(answer(problem), problem) for problem in problems if answer(problem) is not None]
    scores = [problems.score_answer(given, problem) for given, problem in answered]
    found.append(f"{task}, {said}: {sum(scores) / len(scores):.2f}, {sum(score == 1 for score in scores)}")
SEEN = """\
puzzle24, 6*4*1*1: 1.00, 200
puzzle24, 5*5-1/10: 1.00, 200
countdown, 6*4*1*1: 0.05, 0
game_of_life_halting, I cannot tell: 1.00, 200
coin_flip, 0: 0.94, 187
number_sorting, the right list with 0.9 added to each: 1.00, 200
prime_factorization, the number itself, of those that are no primes: 0.50, 0"""
print(f"mean of the scores, and how many of {SIZE} are 1:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/constant.py" 2>/dev/null
