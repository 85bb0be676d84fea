#!/usr/bin/env bash
# openenv 0.10.0: LLMJudge takes the first digits of a reply for the score and cuts it to at most 1: 3/10 is 1.0, -1 is 1.0, .5
# is 1.0, and "Score (0-1): 0.7", after the prompt of its own example, is 0.0.
#
# Guessed: a score of another scale is brought to 0 to 1, as "normalize" says, or is not read; a minus sign and a leading point
# belong to the number; a reply that repeats the prompt's label is read behind it.
# Seen (2026-11-30, openenv 0.10.0; LLMJudge with its defaults on replies made here): its pattern begins with a digit, and
# "normalize" cuts. So with a prompt that asks for 1 to 5 or 1 to 10 every response gets the whole reward, as does the worst one
# where -1 is the worst; a judge that numbers its remarks, or names a count first, gives that. Nothing is raised, and a reply
# without a digit is 0.0. A constant reward trains nothing, and a reward that depends on how a judge begins its reply trains
# something else. Pass score_pattern, as r"(-?\d*\.?\d+)\s*$" with a prompt that asks for the number alone at the end, and scale the
# result yourself.
#
#   0.0: 0 | Score (0-1): 0.7 | 0,5
#   0.5: 0.5 | -0.5
#   0.7: 0.7 | Score: 0.7
#   1.0: 1 | .5 | -1 | 3/10 | Score: 3 out of 5 | 85% | 1. It compiles. Score: 0.2 | There are 2 errors: 0.1
#
# Exits with a status other than 0 if any of this differs. The packages around LLMJudge, and openai, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps openenv==0.10.0
cat >"$folder/judge.py" <<'PYTHON'
import asyncio
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(contents)


root = find_spec("openenv").submodule_search_locations[0]
stand_in("openai", AsyncOpenAI=None)
stand_in("openenv.core", __path__=[f"{root}/core"])
stand_in("openenv.core.rubrics", __path__=[f"{root}/core/rubrics"])

from openenv.core.rubrics.llm_judge import LLMJudge


class Said:
    """A model that always says the same."""

    def __init__(self, reply):
        self.reply = reply

    async def complete(self, prompt):
        return self.reply


def reward(reply):
    judge = LLMJudge(prompt_template="Rate this code solution:\n{action}\n\nScore (0-1):", client=Said(reply))
    return asyncio.run(judge("print(1)", "1"))


SEEN = {
    0.0: ["0", "Score (0-1): 0.7", "0,5"],
    0.5: ["0.5", "-0.5"],
    0.7: ["0.7", "Score: 0.7"],
    1.0: ["1", ".5", "-1", "3/10", "Score: 3 out of 5", "85%", "1. It compiles. Score: 0.2", "There are 2 errors: 0.1"],
}
replies = [reply for side in SEEN.values() for reply in side]
rewards = {reply: reward(reply) for reply in replies}
found = {given: [reply for reply in replies if rewards[reply] == given] for given in SEEN}
for given, side in found.items():
    print(f"{given}:", " | ".join(side))
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/judge.py"
