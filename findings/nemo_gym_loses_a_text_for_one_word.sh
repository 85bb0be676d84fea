#!/usr/bin/env bash
# nemo-gym 0.7.0: its MRCR environment, and seq_match of equivalence_rule, give a copy of a text with one other word anything from
# 0.99 down to 0.02, less than an unrelated text gets, if the text has 200 characters or more: it hangs on which word it is.
#
# Guessed: the reward, difflib's ratio of response and expected text, falls smoothly: a copy with one of 142 words changed has
# 0.99, whichever it is.
# Seen (2026-11-30, nemo-gym 0.7.0, its own grading functions on texts made here, Python 3.11): if the expected text has 200
# characters or more, difflib by default begins no match at a character that makes up more than 1 % of it (autojunk). That is
# nearly all of the alphabet, so the match hangs on the rare letters, and a new word that holds one of them may be paired with
# one far behind it: everything between is lost. With each of the 142 words replaced in turn by another of the text, one copy in
# seven has less than 0.5. With three words replaced, copies of the first 199 characters have 0.92 or more, and those of the
# first 200 go down to 0.06. So the rewards within a group, and the scores on MRCR, whose official grader it says it is, are
# chance in part: a copy with one slip can rank behind a text about something else. Compare with autojunk=False, as below.
#
#   reward of mrcr, of seq_match, and ratio without autojunk:
#   the text itself: 1.00 1.00 1.00
#   quiet -> silent: 0.99 0.99 1.00
#   lamps -> lights: 0.61 0.61 1.00
#   boat -> ship: 0.48 0.48 0.99
#   harbour -> port: 0.33 0.33 1.00
#   autumn -> spring: 0.02 0.02 0.99
#   an unrelated text: 0.03 0.03 0.07
#   one word replaced: 20 of 142 below 0.5, without autojunk all 0.99 or more
#   three words replaced in 199 characters: 0.92 or more, without autojunk 0.92
#   three words replaced in 200 characters: 0.06 or more, without autojunk 0.93
#
# Exits with a status other than 0 if any of this differs. It runs nemo-gym's own grading functions; the base classes of its
# servers are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/copies.py" <<'PYTHON'
import random
import sys
from difflib import SequenceMatcher
from types import ModuleType

from pydantic import BaseModel

names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, BaseModel), SimpleResourcesServer=object)
metrics = ModuleType("nemo_gym.reward_profile")
vars(metrics).update(compute_pass_majority_metrics=None, compute_subset_metrics=None, highest_k_metrics=None)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base, metrics.__name__: metrics})

from resources_servers.equivalence_rule.app import EquivalenceRuleResourcesServer  # noqa: E402
from resources_servers.mrcr.app import _grade  # noqa: E402

CODE = "kA9xQ2"
TEXT = (
    "Every autumn the ferry brings one last crowd across the bay, and the town counts them as they climb the hill. "
    "Some carry fishing rods, some carry nothing but a coat, and the baker sells them bread that is still warm. "
    "By noon the harbour is quiet again. The gulls sit on the roof of the customs house and wait for the nets. "
    "An old man repairs a boat that nobody has used for years, and children throw stones from the wall. "
    "When the lamps are lit, the visitors sit in the inn and ask about the storm, and somebody always tells them. "
    "It came from the north, in the night, and took the lighthouse and nine houses with it. "
    "In the morning the water was flat, as if it had never moved, and the church bell was found in a field."
)
WORDS = TEXT.split()
NAMED = ("quiet -> silent", "lamps -> lights", "boat -> ship", "harbour -> port", "autumn -> spring")
SEEN = """\
the text itself: 1.00 1.00 1.00
quiet -> silent: 0.99 0.99 1.00
lamps -> lights: 0.61 0.61 1.00
boat -> ship: 0.48 0.48 0.99
harbour -> port: 0.33 0.33 1.00
autumn -> spring: 0.02 0.02 0.99
an unrelated text: 0.03 0.03 0.07
one word replaced: 20 of 142 below 0.5, without autojunk all 0.99 or more
three words replaced in 199 characters: 0.92 or more, without autojunk 0.92
three words replaced in 200 characters: 0.06 or more, without autojunk 0.93"""


def mrcr(said, text=TEXT):
    return _grade(CODE + said, CODE + text, CODE)


def plain(said, text=TEXT):
    return SequenceMatcher(None, said, text, autojunk=False).ratio()


def copy(text, places):
    words = text.split()
    for place in places:
        words[place] = draw.choice([word for word in WORDS if word != words[place]])
    return " ".join(words)


draw = random.Random(0)
said = {"the text itself": TEXT} | {name: TEXT.replace(*name.split(" -> ")) for name in NAMED}
said["an unrelated text"] = "A cat walked along the wall in the garden and looked at the birds. " * 8
lines = []
for name, text in said.items():
    rewards = mrcr(text), EquivalenceRuleResourcesServer._grade_seq_match(text, TEXT), plain(text)
    lines.append(f"{name}: {' '.join(f'{reward:.2f}' for reward in rewards)}")
copies = [copy(TEXT, [place]) for place in range(len(WORDS))]
rewards = [mrcr(text) for text in copies]
below = sum(reward < 0.5 for reward in rewards)
least = min(plain(text) for text in copies)
lines.append(f"one word replaced: {below} of {len(copies)} below 0.5, without autojunk all {least:.2f} or more")
for length in (199, 200):
    start = TEXT[:length]
    copies = [copy(start, draw.sample(range(len(start.split())), 3)) for _ in range(100)]
    least = [min(score(text, start) for text in copies) for score in (mrcr, plain)]
    lines.append(f"three words replaced in {length} characters: {least[0]:.2f} or more, without autojunk {least[1]:.2f}")
found = "\n".join(lines)
print("reward of mrcr, of seq_match, and ratio without autojunk:")
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/copies.py"
