#!/usr/bin/env bash
# sglang 0.5.23: a pythonic (Llama-4) call with a negative number vanishes without a trace, and so does a call to a tool that is
# not there; with the Qwen2.5 parser one without line breaks is text, and with the Hermes parser one broken call undoes all.
#
# Guessed: what a parser cannot read as a call stays in the text, and the calls around it are read; a negative number is a value as
# any other; the Qwen2.5 and the Hermes parser, of one format, read the same.
# Seen (2026-11-30, sglang 0.5.23, its own detectors on responses made here): [move(x=-1)] gives no call and an empty text, and in
# a list only its neighbours are made; so does null for None. A call to an unknown tool gives no call and takes its text along.
# The caller then sees an empty answer that ended by itself: no error to tell the agent of, and its episode is over where it
# should go on. The Qwen2.5 parser wants a line break behind <tool_call> and before its end, takes a call without them for text,
# and makes one without an end vanish. The Hermes parser reads both, but if one of several calls is broken, or a text holds
# </tool_call>, it makes none. What stands behind the first call is dropped by both. Set SGLANG_FORWARD_UNKNOWN_TOOLS=1, look at
# the tokens of responses without a call for the marks of one, and tell the agent that its call could not be read.
#
#   pythonic, [move(x=1)]: move{"x": 1}, ''
#   pythonic, [move(x=-1)]: no call, ''
#   pythonic, [move(x=-1), find(q='a')]: find{"q": "a"}, ''
#   pythonic, [find(q=null)]: no call, ''
#   pythonic, Now: [fly(x=1)]: no call, 'Now: '
#   one call: Qwen2.5 find{"q": "a"}, '' | Hermes find{"q": "a"}, ''
#   without line breaks: Qwen2.5 no call, all of the text | Hermes find{"q": "a"}, ''
#   without an end: Qwen2.5 no call, '' | Hermes find{"q": "a"}, ''
#   one good, one broken: Qwen2.5 find{"q": "a"}, '' | Hermes no call, all of the text
#   an end in a text: Qwen2.5 find{"q": "</tool_call>"}, '' | Hermes no call, all of the text
#   an unknown tool: Qwen2.5 no call, 'Now:' | Hermes no call, 'Now:'
#   text behind: Qwen2.5 find{"q": "a"}, '' | Hermes find{"q": "a"}, ''
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


TOOLS = [
    Tool(function=Function(name=name, parameters={"type": "object", "properties": {"x": {}, "q": {}}}))
    for name in ("move", "find")
]
GOOD = '<tool_call>\n{"name": "find", "arguments": {"q": "a"}}\n</tool_call>'
PYTHONIC = (
    "[move(x=1)]",
    "[move(x=-1)]",
    "[move(x=-1), find(q='a')]",
    "[find(q=null)]",
    "Now: [fly(x=1)]",
)
JSON = {
    "one call": GOOD,
    "without line breaks": GOOD.replace("\n", ""),
    "without an end": GOOD.removesuffix("\n</tool_call>"),
    "one good, one broken": GOOD + "\n" + GOOD.replace('"a"', '"a'),
    "an end in a text": GOOD.replace('"a"', '"</tool_call>"'),
    "an unknown tool": "Now: " + GOOD.replace("find", "fly"),
    "text behind": GOOD + "\nI wait.",
}
SEEN = """\
pythonic, [move(x=1)]: move{"x": 1}, ''
pythonic, [move(x=-1)]: no call, ''
pythonic, [move(x=-1), find(q='a')]: find{"q": "a"}, ''
pythonic, [find(q=null)]: no call, ''
pythonic, Now: [fly(x=1)]: no call, 'Now: '
one call: Qwen2.5 find{"q": "a"}, '' | Hermes find{"q": "a"}, ''
without line breaks: Qwen2.5 no call, all of the text | Hermes find{"q": "a"}, ''
without an end: Qwen2.5 no call, '' | Hermes find{"q": "a"}, ''
one good, one broken: Qwen2.5 find{"q": "a"}, '' | Hermes no call, all of the text
an end in a text: Qwen2.5 find{"q": "</tool_call>"}, '' | Hermes no call, all of the text
an unknown tool: Qwen2.5 no call, 'Now:' | Hermes no call, 'Now:'
text behind: Qwen2.5 find{"q": "a"}, '' | Hermes find{"q": "a"}, ''"""


def read(detector, text):
    """The calls, and the text that is left: all of it or a part."""
    result = detector.detect_and_parse(text, TOOLS)
    calls = ", ".join(f"{call.name}{call.parameters}" for call in result.calls) or "no call"
    left = "all of the text" if result.normal_text == text else repr(result.normal_text)
    return f"{calls}, {left}"


lines = [f"pythonic, {text}: {read(parser('pythonic_detector', 'PythonicDetector'), text)}" for text in PYTHONIC]
for name, text in JSON.items():
    shown = [read(parser(f"{module.lower()}_detector", f"{module}Detector"), text) for module in ("Qwen25", "Hermes")]
    lines.append(f"{name}: Qwen2.5 {shown[0]} | Hermes {shown[1]}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
