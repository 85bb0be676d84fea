#!/usr/bin/env bash
# nemo-gym 0.7.0: its StructEval environment undoes the escapes of a response before it parses it: valid JSON with a quotation mark
# or a line break in a text, or a key beyond ASCII, gets 0 or 0.2; a plain sentence gets 0.2 as YAML or CSV.
#
# Guessed: an answer that a JSON parser reads and that has all keys gets 1, and text that is none of the format gets 0.
# Seen (2026-11-30, nemo-gym 0.7.0, verify of its structeval server on responses made here, each with the one key asked for): the
# response is decoded as Python's unicode_escape first, as in StructEval itself, by its comment. So \" ends a text early, \n is a
# raw line break, which JSON forbids, and \\d is an unknown escape: 0. C:\\temp passes, as C:, a tab, and emp. Letters beyond ASCII
# become two others each, so a key with an umlaut is not found: 0.2. TOML and YAML go the same way. Three backquotes in the text
# before the answer are taken for its begin. Any sentence is YAML, and CSV, and gets the 0.2 for what can be parsed. So the reward
# prefers texts without quotations and lines, and RL drops them. Parse the raw answer, and compare values, which this one does not.
#
#   1.0: json {"a": "x"}
#   0.0: json {"a": "say \"x\""}
#   0.0: json {"a": "x\ny"}
#   0.0: json {"a": "\\d+"}
#   1.0: json {"a": "C:\\temp"}
#   0.2: json {"größe": 1}
#   0.0: json With ```x```:\n```json\n{"a": 1}\n```
#   0.0: toml a = "say \"x\""
#   0.2: yaml I do not know.
#   0.2: csv I do not know.
#
# Exits with a status other than 0 if any of this differs. It runs nemo-gym's own grader; the base classes of its server are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0 toml==0.10.2 \
  xmltodict==1.0.2 pyyaml==6.0.4
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/escapes.py" <<'PYTHON'
import asyncio
import json
import sys
import tomllib
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel


class Row(BaseModel, extra="allow"):
    response: Any = None


names = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
base = ModuleType("nemo_gym.base_resources_server")
vars(base).update(dict.fromkeys(names, Row), SimpleResourcesServer=object)
sys.modules.update({"nemo_gym": ModuleType("nemo_gym"), base.__name__: base})

from resources_servers.structeval.app import StructEvalResourcesServer, StructEvalVerifyRequest  # noqa: E402

CASES = (
    ("json", "a", '{"a": "x"}'),
    ("json", "a", r'{"a": "say \"x\""}'),
    ("json", "a", r'{"a": "x\ny"}'),
    ("json", "a", r'{"a": "\\d+"}'),
    ("json", "a", r'{"a": "C:\\temp"}'),
    ("json", "größe", '{"größe": 1}'),
    ("json", "a", 'With ```x```:\n```json\n{"a": 1}\n```'),
    ("toml", "a", r'a = "say \"x\""'),
    ("yaml", "a", "I do not know."),
    ("csv", "csv::a", "I do not know."),
)
SEEN = """\
1.0: json {"a": "x"}
0.0: json {"a": "say \\"x\\""}
0.0: json {"a": "x\\ny"}
0.0: json {"a": "\\\\d+"}
1.0: json {"a": "C:\\\\temp"}
0.2: json {"größe": 1}
0.0: json With ```x```:\\n```json\\n{"a": 1}\\n```
0.0: toml a = "say \\"x\\""
0.2: yaml I do not know.
0.2: csv I do not know."""


def reward(kind, key, said):
    message = SimpleNamespace(type="message", content=[SimpleNamespace(type="output_text", text=said)])
    fields = {"task_id": "1", "task_name": "", "input_type": "text", "output_type": kind, "raw_output_metric": [key]}
    request = StructEvalVerifyRequest(response=SimpleNamespace(output=[message]), **fields)
    return asyncio.run(StructEvalResourcesServer().verify(request)).reward


for kind, key, said in CASES:  # what is called valid above is
    if said.startswith(("{", "a =")):
        assert key in (json if kind == "json" else tomllib).loads(said)
lines = [f"{reward(kind, key, said)}: {kind} {said}".replace("\n", "\\n") for kind, key, said in CASES]
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/escapes.py"
