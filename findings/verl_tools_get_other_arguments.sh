#!/usr/bin/env bash
# verl 0.9.1: its parsers of GLM's, Seed's and MiniMax's tool calls ignore the tool's schema: the text 1.10 becomes 1.1, and code
# loses its indentation; Qwen3-Coder's gives a list with true in it as a text, Gemma 4's half of a list and of a text of two
# lines, and Kimi's runs a tool without arguments if they cannot be read.
#
# Guessed: the agent loop gives a tool the arguments that the model wrote, of the types in the tool's schema, and a call whose
# arguments cannot be read is not made, as with the Hermes parser.
# Seen (2026-11-30, verl 0.9.1, the parsers of its agent loop on calls in the models' formats made here, one argument each): the
# formats glm, seed and minimax do not look at the schema: whatever is JSON is read as JSON, so that of a string parameter 1.10
# becomes the number 1.1, true a truth value and {"a": 1} an object; white space around a value goes, and a line of code is no
# longer indented. qwen3_coder reads lists as Python's: ["a", true] arrives as a text; so does true if the type is boolean or
# null, and 12 as a number if it is string or null. yes is false, and the text null nothing. gemma4 ends a text of several lines,
# a list and an object at the first comma or brace. kimi makes {} of arguments that are no JSON and calls the tool with its
# defaults. At most a warning is logged. So a tool writes another file than the model's, and the policy is rewarded for what it
# did not write. Take strings back by the schema in the tool, refuse calls without required arguments, or register a parser of
# your own.
#
#   1.10 for string: glm, seed, minimax 1.1 | qwen3_coder "1.10"
#   true for string: glm, seed, minimax true | qwen3_coder "true"
#   {"a": 1} for string: glm, seed, minimax {"a": 1} | qwen3_coder "{\"a\": 1}"
#       return x for string: glm, seed, minimax "return x" | qwen3_coder "    return x"
#   null for string: glm, seed, minimax null | qwen3_coder null
#   12 for string or null: glm, seed, minimax 12 | qwen3_coder 12
#   true for boolean or null: glm, seed, minimax true | qwen3_coder "true"
#   yes for boolean: glm, seed, minimax "yes" | qwen3_coder false
#   ["a", "b"] for array: glm, seed, minimax ["a", "b"] | qwen3_coder ["a", "b"]
#   ["a", true] for array: glm, seed, minimax ["a", true] | qwen3_coder "[\"a\", true]"
#   {"x": 1}: kimi {"x": 1} | hermes {"x": 1}
#   {"x": 1: kimi {} | hermes no call
#   <|"|>a<|"|> for string: gemma4 {"x": "a"}
#   <|"|>a, b\nc, d<|"|> for string: gemma4 {"x": "<|\"|>a"}
#   [1,2] for array: gemma4 {"x": "[1"}
#   {y:1,z:2} for object: gemma4 {"x": "{y:1", "z": 2}
#
# Exits with a status other than 0 if any of this differs. It runs verl's own parsers; the tokenizer gives the text itself, and
# verl's helpers for Ray and for traces are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 regex==2026.11.19
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps verl==0.9.1
cat >"$folder/calls.py" <<'PYTHON'
import asyncio
import importlib.util
import json
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

logging.disable(logging.CRITICAL)
root = Path(importlib.util.find_spec("verl").origin).parent
for name in ("verl", "verl.tools", "verl.utils", "verl.experimental", "verl.experimental.agent_loop"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(root.joinpath(*name.split(".")[1:]))]
helpers = {"ray_utils": {"get_event_loop": asyncio.get_running_loop}, "rollout_trace": {"rollout_trace_op": lambda f: f}}
for name, held in helpers.items():
    sys.modules[f"verl.utils.{name}"] = ModuleType(name)
    vars(sys.modules[f"verl.utils.{name}"]).update(held)

from verl.experimental.agent_loop.tool_parser import ToolParser  # noqa: E402
from verl.tools.schemas import OpenAIFunctionToolSchema  # noqa: E402

FORMATS = {
    "glm": "<tool_call>run\n<arg_key>x</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>",
    "seed": "<seed:tool_call>\n<function=run>\n<parameter=x>{}</parameter>\n</function>\n</seed:tool_call>",
    "minimax": (
        '<minimax:tool_call>\n<invoke name="run">\n<parameter name="x">{}</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "qwen3_coder": "<tool_call>\n<function=run>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>",
}
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)
HERMES = '<tool_call>\n{{"name": "run", "arguments": {}}}\n</tool_call>'
CASES = (
    ("string", "1.10"),
    ("string", "true"),
    ("string", '{"a": 1}'),
    ("string", "    return x"),
    ("string", "null"),
    (["string", "null"], "12"),
    (["boolean", "null"], "true"),
    ("boolean", "yes"),
    ("array", '["a", "b"]'),
    ("array", '["a", true]'),
)
ARGUMENTS = ('{"x": 1}', '{"x": 1')
GEMMA = "<|tool_call>call:run{{x:{}}}<tool_call|>"
VALUES = (("string", '<|"|>a<|"|>'), ("string", '<|"|>a, b\nc, d<|"|>'), ("array", "[1,2]"), ("object", "{y:1,z:2}"))
SEEN = """\
1.10 for string: glm, seed, minimax 1.1 | qwen3_coder "1.10"
true for string: glm, seed, minimax true | qwen3_coder "true"
{"a": 1} for string: glm, seed, minimax {"a": 1} | qwen3_coder "{\\"a\\": 1}"
    return x for string: glm, seed, minimax "return x" | qwen3_coder "    return x"
null for string: glm, seed, minimax null | qwen3_coder null
12 for string or null: glm, seed, minimax 12 | qwen3_coder 12
true for boolean or null: glm, seed, minimax true | qwen3_coder "true"
yes for boolean: glm, seed, minimax "yes" | qwen3_coder false
["a", "b"] for array: glm, seed, minimax ["a", "b"] | qwen3_coder ["a", "b"]
["a", true] for array: glm, seed, minimax ["a", true] | qwen3_coder "[\\"a\\", true]"
{"x": 1}: kimi {"x": 1} | hermes {"x": 1}
{"x": 1: kimi {} | hermes no call
<|"|>a<|"|> for string: gemma4 {"x": "a"}
<|"|>a, b\\nc, d<|"|> for string: gemma4 {"x": "<|\\"|>a"}
[1,2] for array: gemma4 {"x": "[1"}
{y:1,z:2} for object: gemma4 {"x": "{y:1", "z": 2}"""


def arguments(form, text, kind):
    """The arguments of the one call in a text, or none."""
    parameters = {"type": "object", "properties": {"x": {"type": kind}}, "required": ["x"]}
    function = {"name": "run", "description": "", "parameters": parameters}
    tool = OpenAIFunctionToolSchema.model_validate({"type": "function", "function": function})
    tokenizer = SimpleNamespace(decode=lambda text, **_: text, convert_tokens_to_ids=lambda _: 0, pad_token=None)
    parser = ToolParser.get_tool_parser(form, tokenizer)
    _, calls = asyncio.run(parser.extract_tool_calls(text, [tool]))
    return calls[0].arguments if calls else "no call"


lines = []
for kind, value in CASES:
    read = {form: arguments(form, text.format(value), kind) for form, text in FORMATS.items()}
    shown = {form: json.dumps(json.loads(text)["x"]) for form, text in read.items()}
    same = len({shown[form] for form in ("glm", "seed", "minimax")}) == 1
    assert same, shown
    kind = kind if isinstance(kind, str) else " or ".join(kind)
    lines.append(f"{value} for {kind}: glm, seed, minimax {shown['glm']} | qwen3_coder {shown['qwen3_coder']}")
for text in ARGUMENTS:
    read = [arguments(form, frame.format(text), "integer") for form, frame in (("kimi", KIMI), ("hermes", HERMES))]
    lines.append(f"{text}: kimi {read[0]} | hermes {read[1]}")
for kind, value in VALUES:
    lines.append(f"{value} for {kind}: gemma4 {arguments('gemma4', GEMMA.format(value), kind)}".replace("\n", "\\n"))
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
