#!/usr/bin/env bash
# autoevals 0.4.1: ValidJSON(schema=...) checks no schema: any object or list gets 1; called with an expected output, it takes that
# for the schema. ExactMatch takes an object with its keys in another order for another one, its documented example included.
#
# Guessed: ValidJSON checks the schema that it was made with, as its documentation shows; ExactMatch compares objects by content;
# JSONDiff gives a number that is far off little, and a list with one entry left out most of the score.
# Seen (2026-11-30, autoevals 0.4.1, on values made here): the schema of the constructor is stored and never read: age "thirty",
# no age and an empty list get 1 under a schema that wants a number. Only ValidJSON.partial(schema=...) checks it. With an
# expected output beside, as an evaluation calls all its scorers, this is the schema, and as most objects forbid nothing, the
# score is 1. ExactMatch gives the example of its own documentation, said to be 1.0, a 0: {"name", "age"} for {"age", "name"}.
# JSONDiff gives the year 1999 for 2024, and the identifier 1001 for 1002, more than 0.99, and compares lists place by place: 2 3
# 4 for 1 2 3 4 has 0.58. So a reward for structured output is 1 for all, or 0 for right ones. Give the schema through partial,
# compare parsed objects yourself, and pass JSONDiff a number_scorer.
#
#   ValidJSON(schema=S): {"age": 30} 1 | {"age": "thirty"} 1 | {} 1 | [] 1
#   ValidJSON(schema=S), with an expected output: {"age": 30} 1 | {"age": "thirty"} 1 | {} 1 | [] 1
#   ValidJSON.partial(schema=S): {"age": 30} 1 | {"age": "thirty"} 0 | {} 0 | [] 0
#   ExactMatch: {"name": "John", "age": 30} for {"age": 30, "name": "John"} 0 | [1, 2, 3] for [1,2,3] 1 | {"a": 1} for {"a": 1} 1
#   JSONDiff: {"year": 1999} for {"year": 2024} 0.994 | {"id": 1001} for {"id": 1002} 1.000 | [2, 3, 4] for [1, 2, 3, 4] 0.581
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check autoevals==0.4.1 jsonschema==4.26.0 polyleven==0.12.0
cat >"$folder/objects.py" <<'PYTHON'
import json
import sys

from autoevals import ExactMatch, JSONDiff, ValidJSON

SCHEMA = {"type": "object", "properties": {"age": {"type": "number"}}, "required": ["age"]}
TEXTS = ('{"age": 30}', '{"age": "thirty"}', "{}", "[]")
EXPECTED = {"age": 30}
EXACT = (
    ({"name": "John", "age": 30}, '{"age": 30, "name": "John"}'),
    ([1, 2, 3], "[1,2,3]"),
    ({"a": 1}, '{"a": 1}'),
)
NEAR = (({"year": 1999}, {"year": 2024}), ({"id": 1001}, {"id": 1002}), ([2, 3, 4], [1, 2, 3, 4]))
SEEN = """\
ValidJSON(schema=S): {"age": 30} 1 | {"age": "thirty"} 1 | {} 1 | [] 1
ValidJSON(schema=S), with an expected output: {"age": 30} 1 | {"age": "thirty"} 1 | {} 1 | [] 1
ValidJSON.partial(schema=S): {"age": 30} 1 | {"age": "thirty"} 0 | {} 0 | [] 0
ExactMatch: {"name": "John", "age": 30} for {"age": 30, "name": "John"} 0 | [1, 2, 3] for [1,2,3] 1 | {"a": 1} for {"a": 1} 1
JSONDiff: {"year": 1999} for {"year": 2024} 0.994 | {"id": 1001} for {"id": 1002} 1.000 | [2, 3, 4] for [1, 2, 3, 4] 0.581"""

made, partial = ValidJSON(schema=SCHEMA), ValidJSON.partial(schema=SCHEMA)()
scores = {
    "ValidJSON(schema=S)": [f"{text} {made.eval(text).score}" for text in TEXTS],
    "ValidJSON(schema=S), with an expected output": [f"{text} {made.eval(text, EXPECTED).score}" for text in TEXTS],
    "ValidJSON.partial(schema=S)": [f"{text} {partial.eval(text).score}" for text in TEXTS],
    "ExactMatch": [f"{json.dumps(out)} for {text} {ExactMatch().eval(out, text).score}" for out, text in EXACT],
    "JSONDiff": [f"{json.dumps(a)} for {json.dumps(b)} {JSONDiff().eval(a, b).score:.3f}" for a, b in NEAR],
}
found = "\n".join(f"{name}: {' | '.join(shown)}" for name, shown in scores.items())
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/objects.py"
