#!/usr/bin/env bash
# verifiers 0.4.0: the last word of a judge's reply that could be a verdict is the verdict: "Yes, there is no difference" is no,
# "No. The reference answer is yes" is yes, and with the labels A and B, "B: it has a wrong sign" is A, the article.
#
# Guessed: a judge that is asked for yes or no and gives a reason with it is understood by the verdict that it starts with, or
# that it marks as such; what cannot be told raises, as the documentation has it.
# Seen (2026-11-30, verifiers 0.4.0; its reference judge with its default labels, and with A and B, which its settings name as
# an example, on replies made here): unless a reply says "verdict:", "answer:" or "final verdict", the last of the labels
# counts, in capitals or not, wherever it stands. "no" and "a" are among the commonest words of English, so a judge that gives
# its reasons behind its verdict turns right responses into wrong ones with the labels yes and no, and wrong ones into right
# ones with A and B. Nothing raises. How often it does so depends on the judge and on what it writes about, so rewards change
# with the topic. Tell the judge to end with a line "Final verdict: yes", which is found, or parse its replies yourself.
#
#   yes and no:
#   0.0: no | No. | yes, and there is no error in it. | Yes, there is no difference. | Yes. No step is missing.
#   1.0: yes | Yes. | No. The reference answer is yes. | No, for a "yes" it lacks the unit. | Final verdict: yes (no error)
#   A and B:
#   0.0: B | B. | Verdict: B. It has a wrong sign. | A: it is right, and a B would be harsh.
#   1.0: A | A. | B: it has a wrong sign. | B. This is not a number. | Grade: B, since a unit is missing.
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check verifiers==0.4.0 math-verify==0.9.0
cat >"$folder/judge.py" <<'PYTHON'
import sys

from verifiers.v1.judge import JudgeResponse
from verifiers.v1.judges.reference import ReferenceJudge, ReferenceJudgeConfig

SEEN = {
    ("yes", "no"): {
        0.0: ["no", "No.", "yes, and there is no error in it.", "Yes, there is no difference.", "Yes. No step is missing."],
        1.0: [
            "yes",
            "Yes.",
            "No. The reference answer is yes.",
            'No, for a "yes" it lacks the unit.',
            "Final verdict: yes (no error)",
        ],
    },
    ("A", "B"): {
        0.0: ["B", "B.", "Verdict: B. It has a wrong sign.", "A: it is right, and a B would be harsh."],
        1.0: ["A", "A.", "B: it has a wrong sign.", "B. This is not a number.", "Grade: B, since a unit is missing."],
    },
}
same = True
for labels, seen in SEEN.items():
    judge = ReferenceJudge(ReferenceJudgeConfig(choices=labels))
    replies = [reply for side in seen.values() for reply in side]
    rewards = {reply: judge.parse(JudgeResponse(text=reply)) for reply in replies}
    print(f"{labels[0]} and {labels[1]}:")
    for reward, side in seen.items():
        found = [reply for reply in replies if rewards[reply] == reward]
        print(f"{reward}:", " | ".join(found))
        same &= found == side
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/judge.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
