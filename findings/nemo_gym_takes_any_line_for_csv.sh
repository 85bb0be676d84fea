#!/usr/bin/env bash
# nemo-gym 0.7.0: its structured outputs environment gives 1 to any single line where CSV is asked for; and under every schema it
# wants the optional fields too and forbids what the schema allows, so that valid answers get 0.
#
# Guessed: the reward is 1 if the answer is of the format and valid under the schema of its row, else 0.
# Seen (2026-11-30, nemo-gym 0.7.0 with openapi-schema-validator 0.6.3, its server's own function on answers made here): a text of
# one line is a CSV header without rows, an empty list, and valid under any schema of rows without minItems: "I do not know." gets
# 1, and so does the header of other columns. Before it validates, the server makes all properties required and forbids all
# others: an answer without an optional field gets 0, and one with the further entries that additionalProperties or an allOf
# beside the properties allow. If one field is called "properties", the changed schema is none, and no answer gets more than 0.
# format is not looked at: "yesterday" is a date. So one line of any kind is the best policy for CSV, and RL learns to fill in
# what is unknown. Count the rows of CSV yourself, and leave out schemas with optional fields.
#
#   1.0: csv, rows: a,b\n1,x
#   0.0: csv, rows: a,b\nx,1
#   1.0: csv, rows: c,d
#   1.0: csv, rows: I do not know.
#   1.0: json, b optional, valid: {"a": 1, "b": 2}
#   0.0: json, b optional, valid: {"a": 1}
#   0.0: json, others allowed, valid: {"a": 1, "z": 2}
#   0.0: json, b by allOf, valid: {"a": 1, "b": 2}
#   0.0: json, a field properties, valid: {"properties": ["x"]}
#   1.0: json, a date, valid: {"d": "yesterday"}
#
# Exits with a status other than 0 if any of this differs. It runs nemo-gym's own grader; the base classes of its server are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0 xmltodict==1.0.2 \
  pyyaml==6.0.4 openapi-schema-validator==0.6.3
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/outputs.py" <<'PYTHON'
import json
import sys
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

from jsonschema import Draft202012Validator
from pydantic import BaseModel

warnings.simplefilter("ignore")


class Row(BaseModel, extra="allow"):
    response: Any = None


names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, Row), SimpleResourcesServer=object)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base})

from resources_servers.structured_outputs.app import StructuredOutputsResourcesServer  # noqa: E402

NUMBER, TEXT = {"type": "integer"}, {"type": "string"}
ROWS = {"type": "array", "items": {"type": "object", "properties": {"a": NUMBER, "b": TEXT}, "required": ["a"]}}
OPTIONAL = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a"]}
OTHERS = {"type": "object", "properties": {"a": NUMBER}, "additionalProperties": NUMBER}
BOTH = {"type": "object", "properties": {"a": NUMBER}, "allOf": [{"properties": {"b": NUMBER}}]}
NAMED = {"type": "object", "properties": {"properties": {"type": "array", "items": TEXT}}}
DATE = {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}}
CASES = (
    ("rows", "csv", ROWS, "a,b\n1,x"),
    ("rows", "csv", ROWS, "a,b\nx,1"),
    ("rows", "csv", ROWS, "c,d"),
    ("rows", "csv", ROWS, "I do not know."),
    ("b optional", "json", OPTIONAL, '{"a": 1, "b": 2}'),
    ("b optional", "json", OPTIONAL, '{"a": 1}'),
    ("others allowed", "json", OTHERS, '{"a": 1, "z": 2}'),
    ("b by allOf", "json", BOTH, '{"a": 1, "b": 2}'),
    ("a field properties", "json", NAMED, '{"properties": ["x"]}'),
    ("a date", "json", DATE, '{"d": "yesterday"}'),
)
SEEN = """\
1.0: csv, rows: a,b\\n1,x
0.0: csv, rows: a,b\\nx,1
1.0: csv, rows: c,d
1.0: csv, rows: I do not know.
1.0: json, b optional, valid: {"a": 1, "b": 2}
0.0: json, b optional, valid: {"a": 1}
0.0: json, others allowed, valid: {"a": 1, "z": 2}
0.0: json, b by allOf, valid: {"a": 1, "b": 2}
0.0: json, a field properties, valid: {"properties": ["x"]}
1.0: json, a date, valid: {"d": "yesterday"}"""


def reward(kind, schema, said):
    server = StructuredOutputsResourcesServer()
    server.config = SimpleNamespace(xml_coerce_types=True)
    return server.evaluate_structured_output_response(kind, json.dumps(schema), said)[0]


lines = []
for name, kind, schema, said in CASES:
    valid = ""
    if kind == "json":
        valid = ", valid" if Draft202012Validator(schema).is_valid(json.loads(said)) else ", not valid"
    lines.append(f"{reward(kind, schema, said)}: {kind}, {name}{valid}: {said}".replace("\n", "\\n"))
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/outputs.py"
