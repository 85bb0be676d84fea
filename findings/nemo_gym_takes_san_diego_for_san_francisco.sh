#!/usr/bin/env bash
# nemo-gym 0.7.0: its tool-use environment takes an argument of several words for right if a fifth of the words is the same: San
# Diego for San Francisco, and 22:00 for 10:00. A threshold above 0.5 makes every such argument wrong, the expected one too.
#
# Guessed: a call has the whole reward if its arguments are those that were expected, up to case and a word or two; by its
# comment, strings are compared by the Jaccard similarity of their words, so that 1 asks for the same words.
# Seen (2026-11-30, nemo-gym 0.7.0, pydantic 2.13.4; the comparison of the environment
# single_step_tool_use_with_argument_comparison with the settings of its configuration for conversational tool use, which
# trains from the steps of experts): what counts is the number of common words over the sum of both numbers, which is 0.5 for
# equal strings, and the configuration asks for 0.1. One common word of five on either side is enough, whatever the others are
# and in whatever order, so another person, street, hour, amount and query get the reward of the right one. A string of one
# word must be the same to the letter: paris is wrong for Paris. Numbers must have the same type: 5.0 is wrong for 5, but true
# is right for 1. A second call with other arguments costs nothing, as its documentation says. So the reward says
# which function was called, and little about what with. Compare the arguments exactly, or set the threshold to 0.5, which
# asks for the same words in any order.
#
#   right: San Diego for San Francisco | Jane Smith for John Smith | 9 Oak Street for 12 Main Street
#   right: 2026-05-01 22:00 for 2026-05-01 10:00 | 900 USD for 100 USD | from London to Paris for from Paris to London
#   right: delete the backup for do not delete the backup | true for 1
#   wrong: paris for Paris | "Paris, France" for Paris | 5.0 for 5 | 5 for 5.0
#   San Francisco for San Francisco, by threshold: 0.5: right, 0.6: wrong, 0.8: wrong, 1.0: wrong
#
# Exits with a status other than 0 if any of this differs. The package asks for a newer Python than its comparison needs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.13.4 pyyaml==6.0.3
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/calls.py" <<'PYTHON'
import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import yaml

NAME = "single_step_tool_use_with_argument_comparison"
compare = import_module(f"resources_servers.{NAME}.common.verification_utils")
folder = Path(find_spec(f"resources_servers.{NAME}").submodule_search_locations[0])
settings = yaml.safe_load((folder / "configs" / f"{NAME}.yaml").read_text())
settings = settings[f"{NAME}_resources_server"]["resources_servers"][NAME]["tool_call_comparator_config"]

CASES = [
    ("right", ("San Francisco", "San Diego"), ("John Smith", "Jane Smith"), ("12 Main Street", "9 Oak Street")),
    (
        "right",
        ("2026-05-01 10:00", "2026-05-01 22:00"),
        ("100 USD", "900 USD"),
        ("from Paris to London", "from London to Paris"),
    ),
    ("right", ("do not delete the backup", "delete the backup"), (1, True)),
    ("wrong", ("Paris", "paris"), ("Paris", "Paris, France"), (5, 5.0), (5.0, 5)),
]
THRESHOLDS = {0.5: "right", 0.6: "wrong", 0.8: "wrong", 1.0: "wrong"}


def graded(expected, said, **others):
    config = compare.ToolCallComparatorConfig(**settings | others)
    calls = [
        compare.FunctionCallAction(type="function_call", name="book", arguments=json.dumps({"value": value}))
        for value in (expected, said)
    ]
    return {1.0: "right", 0.0: "wrong"}[compare.ActionComparator(config=config).compare_action(*calls).reward]


def written(value):
    return f'"{value}"' if "," in str(value) else value if isinstance(value, str) else json.dumps(value)


same = settings == {"word_count_similarity_threshold": 0.1}
for verdict, *pairs in CASES:
    same &= all(graded(*pair) == verdict for pair in pairs)
    print(f"{verdict}:", " | ".join(f"{written(said)} for {written(expected)}" for expected, said in pairs))
found = {value: graded(*["San Francisco"] * 2, word_count_similarity_threshold=value) for value in THRESHOLDS}
print("San Francisco for San Francisco, by threshold:", ", ".join(f"{value}: {found[value]}" for value in found))
sys.exit(not (same and found == THRESHOLDS))
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
