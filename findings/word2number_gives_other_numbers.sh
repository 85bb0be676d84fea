#!/usr/bin/env bash
# word2number 1.1: "two million three hundred thousand" is 2,301,300, "twenty five hundred" 200, "2.5 million" 1,000,000 and
# "minus five" 5: graders that turn words into numbers with it compare other numbers than those said.
#
# Guessed: word_to_num gives the number that was said, or raises.
# Seen (2026-11-30, word2number 1.1): behind a million, and a billion, the thousands count twice: as thousands and as ones.
# "Sixty six hundred" and the like lose what stands before the last digit. Any word that it does not know, a minus and a number
# in digits among them, is left out, and the rest is added up: a share, a range and a sentence are the sum of their numbers. It
# raises if no word is a number. Public graders of mathematics pass each answer through it and swallow the error, so answers in
# words are compared as other numbers: a right one is wrong, and "1 million" is right for "2.5 million". Leave it out of a
# grader, and ask for answers in digits.
#
#   two million three hundred thousand: 2301300
#   five million two thousand: 5003002
#   one billion two million three thousand: 1002004003
#   twenty five hundred: 200 | sixty six hundred: 460 | nineteen ninety nine: 1719
#   minus five: 5 | 2.5 million: 1000000 | 1 million: 1000000 | 12 thousand: 1000 | three and a half: 3 | two thirds: 2
#   five or six: 11 | between ten and twenty: 30 | the answer is five not six: 11 | no one is here: 1
#   right: five hundred and twelve thousand: 512000 | seventeen hundred: 1700 | one million five hundred: 1000500
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check word2number==1.1
cat >"$folder/words.py" <<'PYTHON'
import sys

from word2number.w2n import word_to_num

LINES = [
    {"two million three hundred thousand": 2301300},
    {"five million two thousand": 5003002},
    {"one billion two million three thousand": 1002004003},
    {"twenty five hundred": 200, "sixty six hundred": 460, "nineteen ninety nine": 1719},
    {
        "minus five": 5,
        "2.5 million": 1000000,
        "1 million": 1000000,
        "12 thousand": 1000,
        "three and a half": 3,
        "two thirds": 2,
    },
    {"five or six": 11, "between ten and twenty": 30, "the answer is five not six": 11, "no one is here": 1},
    {"five hundred and twelve thousand": 512000, "seventeen hundred": 1700, "one million five hundred": 1000500},
]
same = True
for number, line in enumerate(LINES, 1):
    found = {words: word_to_num(words) for words in line}
    print("right: " * (number == len(LINES)) + " | ".join(f"{words}: {value}" for words, value in found.items()))
    same &= found == line
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/words.py"
