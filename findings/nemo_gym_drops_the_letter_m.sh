#!/usr/bin/env bash
# nemo-gym 0.7.0: its string_match environment takes the letter m out of every word as a unit, so that "war" is right for
# "warm"; 5 m is right for 5 km, and a year for any that is not twenty years away: 1999 for 1990.
#
# Guessed: an answer is right if it is the gold up to case, punctuation, LaTeX commands and the separators of thousands; units
# and numbers within a small error, which its documentation names, are those of measured quantities.
# Seen (2026-11-30, nemo-gym 0.7.0; the verify of its server as delivered, on responses made here): if nothing else fits, it
# takes m, cm, mm, km and kg out of both sides wherever they stand, and compares the rest: any text is right without its m's.
# A number is right if its unit is another, and if it is less than one percent off: that gets 0.98. A year, a count, a date's
# number and an identifier are such numbers, too, and the reward of a model that guesses years comes close to the whole one. A
# list without spaces is one number: 12 is right for 1,2. On the other hand the answer in bold type is wrong,
# "The answer is Paris" has no answer, and a list in another order is wrong, where its documentation speaks of reordering. So
# the reward pays for wrong words and years, and takes right ones for wrong by their layout. Set case_sensitive and ask for the
# answer in a box, or grade text and numbers apart.
#
#   1.0: "war" for "warm" | "tea" for "team" | "cap" for "camp" | "lip" for "limp" | "12" for "1,2"
#   0.98: "1999" for "1990" | "1815" for "1800" | "5 m" for "5 km" | "5 mm" for "5 kg" | "1020" for "1024"
#   0.0: "Answer: **Paris**" for "Paris" | "**Answer:** Paris" for "Paris" | "The answer is Paris" for "Paris"
#   0.0: "Answer: B, A" for "A, B" | "Answer: 0.5" for "1/2"
#
# Exits with a status other than 0 if any of this differs. The package asks for a newer Python than its grader needs; the base
# classes of its server are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/strings.py" <<'PYTHON'
import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel


class Row(BaseModel, extra="allow"):
    response: Any = None


names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, Row), SimpleResourcesServer=object)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base})

from resources_servers.string_match.app import StringMatchResourcesServer, StringMatchVerifyRequest  # noqa: E402

CASES = [
    (1.0, "Answer: ", ("war", "warm"), ("tea", "team"), ("cap", "camp"), ("lip", "limp"), ("12", "1,2")),
    (0.98, "Answer: ", ("1999", "1990"), ("1815", "1800"), ("5 m", "5 km"), ("5 mm", "5 kg"), ("1020", "1024")),
    (0.0, "", ("Answer: **Paris**", "Paris"), ("**Answer:** Paris", "Paris"), ("The answer is Paris", "Paris")),
    (0.0, "", ("Answer: B, A", "A, B"), ("Answer: 0.5", "1/2")),
]


def reward(said, gold):
    message = SimpleNamespace(type="message", role="assistant", content=[SimpleNamespace(text=said)])
    body = StringMatchVerifyRequest(response=SimpleNamespace(output=[message]), expected_answer=gold)
    return asyncio.run(StringMatchResourcesServer().verify(body)).reward


same = reward("Answer: Paris", "Paris") == 1.0 and reward("Answer: Rome", "Paris") == 0.0
for score, before, *pairs in CASES:
    same &= all(reward(before + said, gold) == score for said, gold in pairs)
    print(f"{score}:", " | ".join(f'"{said}" for "{gold}"' for said, gold in pairs))
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/strings.py"
