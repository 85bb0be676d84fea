#!/usr/bin/env bash
# sglang 0.5.23: its parser of MiniMax-M2's tool calls turns every optional argument into null; that of Step-3 drops texts with a
# "<" in them, and those of Qwen3-Coder, MiMo and GLM-4.5 turn other values into others.
#
# Guessed: a parser of tool calls gives the tool the values that the model wrote, converted to the types of the tool's schema.
# Seen (2026-11-30, sglang 0.5.23, its own detectors on calls in the models' formats made here, one argument each): a parameter
# that may be null, as Optional[str] of a Python function becomes (anyOf string, null), is null in MiniMax-M2's calls, whatever the
# model wrote, and 007 for an integer or a string is 7. Step-3's parser takes no value that has a "<" in it: code with a comparison
# and HTML are left out, and the tool is called without them. In Qwen3-Coder's and MiMo's the text null is no text, and yes and 1
# are false. GLM-4.5's writes the texts true and null as Python does and takes the quotation marks off a text; it and Step-3's
# make [1, 0] of 1,000. The model was right and sees its tool fail or do something else, and RL learns from that. Do not declare
# null for MiniMax-M2's parameters, leave optional ones out of "required" instead, and parse the raw text yourself elsewhere.
#
#   hello for string or null: MinimaxM2 null | Step3 "hello" | Qwen3Coder "hello" | MiMo "hello" | Glm4Moe "hello"
#   7 for integer or null: MinimaxM2 null | Step3 "7" | Qwen3Coder 7 | MiMo "7" | Glm4Moe 7
#   007 for integer or string: MinimaxM2 7 | Step3 "007" | Qwen3Coder "007" | MiMo "007" | Glm4Moe "007"
#   a < b for string: MinimaxM2 "a < b" | Step3 nothing | Qwen3Coder "a < b" | MiMo "a < b" | Glm4Moe "a < b"
#   null for string: MinimaxM2 null | Step3 "null" | Qwen3Coder null | MiMo null | Glm4Moe "None"
#   true for string: MinimaxM2 "true" | Step3 "true" | Qwen3Coder "true" | MiMo "true" | Glm4Moe "True"
#   "a" for string: MinimaxM2 "\"a\"" | Step3 "\"a\"" | Qwen3Coder "\"a\"" | MiMo "\"a\"" | Glm4Moe "a"
#   yes for boolean: MinimaxM2 true | Step3 "yes" | Qwen3Coder false | MiMo false | Glm4Moe "yes"
#   1 for boolean: MinimaxM2 true | Step3 1 | Qwen3Coder false | MiMo false | Glm4Moe 1
#   1,000 for integer: MinimaxM2 "1,000" | Step3 [1, 0] | Qwen3Coder "1,000" | MiMo "1,000" | Glm4Moe [1, 0]
#
# Exits with a status other than 0 if any of this differs. It runs sglang's own parsers; the class of a tool is a stand-in, to need
# fewer packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 orjson==3.13.0 \
  partial-json-parser==0.2.1.1.post7
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps sglang==0.5.23
cat >"$folder/calls.py" <<'PYTHON'
import importlib
import importlib.util
import json
import logging
import sys
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel

logging.disable(logging.CRITICAL)
root = Path(importlib.util.find_spec("sglang").origin).parent
for name in ("sglang", "sglang.srt", "sglang.srt.function_call"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(root.joinpath(*name.split(".")[1:]))]


class Function(BaseModel):
    name: str
    parameters: dict


class Tool(BaseModel):
    type: str = "function"
    function: Function


protocol = ModuleType("sglang.srt.entrypoints.openai.protocol")
vars(protocol).update(Tool=Tool, ToolChoice=object)
sys.modules[protocol.__name__] = protocol


def parser(module, name):
    return getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), name)()


TEXT, INT, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
TYPES = {
    "string": TEXT,
    "string or null": {"anyOf": [TEXT, NULL]},
    "integer or null": {"anyOf": [INT, NULL]},
    "integer or string": {"anyOf": [INT, TEXT]},
    "integer": INT,
    "boolean": {"type": "boolean"},
}
CASES = (
    ("string or null", "hello"),
    ("integer or null", "7"),
    ("integer or string", "007"),
    ("string", "a < b"),
    ("string", "null"),
    ("string", "true"),
    ("string", '"a"'),
    ("boolean", "yes"),
    ("boolean", "1"),
    ("integer", "1,000"),
)
FORMATS = {
    "minimax_m2 MinimaxM2Detector": (
        '<minimax:tool_call>\n<invoke name="run">\n<parameter name="x">{}</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "step3_detector Step3Detector": (
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="run">\n<steptml:parameter name="x">{}</steptml:parameter>\n</steptml:invoke>'
        "<｜tool_call_end｜>\n<｜tool_calls_end｜>"
    ),
    "qwen3_coder_detector Qwen3CoderDetector": (
        "<tool_call>\n<function=run>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>"
    ),
    "mimo_detector MiMoDetector": "<tool_call>\n<function=run>\n<parameter=x>{}</parameter>\n</function>\n</tool_call>",
    "glm4_moe_detector Glm4MoeDetector": (
        "<tool_call>run\n<arg_key>x</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"
    ),
}
SEEN = """\
hello for string or null: MinimaxM2 null | Step3 "hello" | Qwen3Coder "hello" | MiMo "hello" | Glm4Moe "hello"
7 for integer or null: MinimaxM2 null | Step3 "7" | Qwen3Coder 7 | MiMo "7" | Glm4Moe 7
007 for integer or string: MinimaxM2 7 | Step3 "007" | Qwen3Coder "007" | MiMo "007" | Glm4Moe "007"
a < b for string: MinimaxM2 "a < b" | Step3 nothing | Qwen3Coder "a < b" | MiMo "a < b" | Glm4Moe "a < b"
null for string: MinimaxM2 null | Step3 "null" | Qwen3Coder null | MiMo null | Glm4Moe "None"
true for string: MinimaxM2 "true" | Step3 "true" | Qwen3Coder "true" | MiMo "true" | Glm4Moe "True"
"a" for string: MinimaxM2 "\\"a\\"" | Step3 "\\"a\\"" | Qwen3Coder "\\"a\\"" | MiMo "\\"a\\"" | Glm4Moe "a"
yes for boolean: MinimaxM2 true | Step3 "yes" | Qwen3Coder false | MiMo false | Glm4Moe "yes"
1 for boolean: MinimaxM2 true | Step3 1 | Qwen3Coder false | MiMo false | Glm4Moe 1
1,000 for integer: MinimaxM2 "1,000" | Step3 [1, 0] | Qwen3Coder "1,000" | MiMo "1,000" | Glm4Moe [1, 0]"""


def received(detector, text, schema):
    tool = Tool(function=Function(name="run", parameters={"type": "object", "properties": {"x": schema}}))
    (call,) = detector.detect_and_parse(text, [tool]).calls
    arguments = json.loads(call.parameters)
    return json.dumps(arguments["x"]) if arguments else "nothing"


lines = []
for kind, value in CASES:
    shown = []
    for names, form in FORMATS.items():
        module, name = names.split()
        shown.append(f"{name.removesuffix('Detector')} {received(parser(module, name), form.format(value), TYPES[kind])}")
    lines.append(f"{value} for {kind}: {' | '.join(shown)}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
