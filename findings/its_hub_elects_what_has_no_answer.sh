#!/usr/bin/env bash
# its-hub 1.2.0: self-consistency counts responses in which no answer was found as votes for one answer, None: cut-off responses
# win the vote, and the adaptive one stops after two of them. Of several boxes the first counts.
#
# Guessed: a response without an answer has no vote; of several boxes the last counts, as for graders; and the pattern that
# its documentation gives for boxes reads what is in them.
# Seen (2026-11-30, its-hub 1.2.0; SelfConsistency and AdaptiveSelfConsistency with create_regex_projection_function and the
# pattern of its documentation, on responses made here): all responses that do not match have the same value, None, and vote
# together, while right and wrong answers vote apart. So where more responses are cut off than agree, one of the cut-off ones
# is the result, and the adaptive algorithm takes two of them for an agreement and does not use the rest of its budget. The
# pattern ends at the first closing brace: the fractions 1/2 and 1/3 are both "\frac{1" and vote together, and a response that
# boxes a step first votes with that. Give it a function of your own that reads the last box with its braces, returns another
# value for each response without one, and check the result for a box.
#
#   8 responses, 4 cut off, 3 with 18, 1 with 20: None 4, 18 3, 20 1; the result is cut off
#   adaptive, budget 16, the first 2 cut off, 14 with 18: None 2; the result is cut off
#   adaptive, budget 16, the first 2 with 18: 18 2; the result has 18
#   7 responses, 2 with \frac{1}{2}, 2 with \frac{1}{3}, 3 with 5: \frac{1 4, 5 3; the result is a fraction
#   3 responses, each "\boxed{4} is the first part, and \boxed{18} the sum": 4 3
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps its-hub==1.2.0 numpy==2.3.5 \
  typing-extensions==4.16.0
cat >"$folder/votes.py" <<'PYTHON'
import asyncio
import sys

from its_hub import AbstractLanguageModel, AdaptiveSelfConsistency, SelfConsistency
from its_hub.core.algorithms.self_consistency import create_regex_projection_function

CUT_OFF = "Let us count them one by one: first"


class Says(AbstractLanguageModel):
    """A model that gives the responses one after the other."""

    def __init__(self, responses):
        self.responses = iter(responses)

    async def agenerate_single(self, messages, **_):
        return {"role": "assistant", "content": next(self.responses)}

    async def agenerate(self, messages, **_):
        raise NotImplementedError


def boxed(answer):
    return f"The answer is \\boxed{{{answer}}}."


def vote(algorithm, *responses):
    read = create_regex_projection_function(r"\\boxed\{([^}]+)\}")
    voting = algorithm(consistency_space_projection_func=read)
    found = asyncio.run(voting.ainfer(Says(responses), "How many?", len(responses), return_response_only=False))
    counts = ", ".join(f"{value} {count}" for (value,), count in found.response_counts.most_common())
    return counts, found.the_one["content"]


def result(content):
    if content == CUT_OFF:
        return "; the result is cut off"
    return "; the result is a fraction" if "frac" in content else "; the result has 18"


STEPS = "\\boxed{4} is the first part, and \\boxed{18} the sum"
CASES = {
    "8 responses, 4 cut off, 3 with 18, 1 with 20": (
        SelfConsistency,
        [CUT_OFF] * 4 + [boxed(18)] * 3 + [boxed(20)],
        "None 4, 18 3, 20 1; the result is cut off",
    ),
    "adaptive, budget 16, the first 2 cut off, 14 with 18": (
        AdaptiveSelfConsistency,
        [CUT_OFF] * 2 + [boxed(18)] * 14,
        "None 2; the result is cut off",
    ),
    "adaptive, budget 16, the first 2 with 18": (
        AdaptiveSelfConsistency,
        [boxed(18)] * 16,
        "18 2; the result has 18",
    ),
    "7 responses, 2 with \\frac{1}{2}, 2 with \\frac{1}{3}, 3 with 5": (
        SelfConsistency,
        [boxed("\\frac{1}{2}")] * 2 + [boxed("\\frac{1}{3}")] * 2 + [boxed(5)] * 3,
        "\\frac{1 4, 5 3; the result is a fraction",
    ),
    f'3 responses, each "{STEPS}"': (SelfConsistency, [STEPS] * 3, "4 3"),
}
same = True
for name, (algorithm, responses, seen) in CASES.items():
    counts, content = vote(algorithm, *responses)
    found = counts if content == STEPS else counts + result(content)
    print(f"{name}: {found}")
    same &= found == seen
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/votes.py"
