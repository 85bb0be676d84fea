#!/usr/bin/env bash
# ragas 0.4.3: ToolCallAccuracy(strict_order=False) gives 0 to three calls of which two are right, if the wrong one comes first
# in the alphabet, and 0 to any with a call left out; further arguments cost nothing. ToolCallF1 gives 0 for no call where none
# is wanted.
#
# Guessed: ToolCallAccuracy gives the share of right calls, without strict_order in any order, less in proportion for calls left
# out, as its documentation says; 1 wants the same arguments; ToolCallF1 gives 1 where no call is expected and none is made.
# Seen (2026-11-30, ragas 0.4.3, both of ragas.metrics.collections, on calls made here): without strict_order both lists are
# sorted by name and arguments and compared place by place: searches for a, b and c instead of b, c and d agree in no place and
# get 0, where b, c and z get 2/3. If the numbers of calls differ, the sequences count as not aligned in both modes, so two right
# calls of three get 0, and the documented part is never given. Only the expected arguments are looked up: delete(path, force) is
# right for delete(path). They are compared as texts: "5" is 5, and an object with its keys in another order another one. F1 is
# of sets: one call made five times has 1, and a conversation that wants no call and makes none has 0. So as a reward either
# sends nearly right plans to 0 or lets arguments through that nobody asked for. Match the calls yourself, best pairs first.
#
#   strict_order=False, searches for b, c and d expected: bcd 1.00 | dcb 1.00 | abc 0.00 | bcz 0.67 | bc 0.00
#   strict_order=True, searches for b, c and d expected: bcd 1.00 | dcb 0.33 | abc 0.00 | bcz 0.67 | bc 0.00
#   F1, searches for b, c and d expected: bcd 1.00 | dcb 1.00 | abc 0.67 | bcz 0.67 | bc 0.80
#   delete(path, force) for delete(path): accuracy 1.00, F1 0.00
#   delete(n='5') for delete(n=5): accuracy 1.00, F1 0.00
#   another order of keys: accuracy 0.00, F1 1.00
#   five times the same: accuracy 0.00, F1 1.00
#   no call for none: accuracy 1.00, F1 0.00
#
# Exits with a status other than 0 if any of this differs. It runs ragas' own metrics; their base class, which checks models, is a
# stand-in, to need fewer packages.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps ragas==0.4.3
cat >"$folder/calls.py" <<'PYTHON'
import asyncio
import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType

warnings.simplefilter("ignore")
root = Path(importlib.util.find_spec("ragas").origin).parent
for name in ("ragas", "ragas.metrics", "ragas.metrics.collections"):
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(root.joinpath(*name.split(".")[1:]))]


class BaseMetric:
    def __init__(self, name, **_):
        self.name = name


sys.modules["ragas.metrics.collections.base"] = ModuleType("base")
sys.modules["ragas.metrics.collections.base"].BaseMetric = BaseMetric

from ragas.messages import AIMessage, ToolCall  # noqa: E402
from ragas.metrics.collections.tool_call_accuracy import ToolCallAccuracy  # noqa: E402
from ragas.metrics.collections.tool_call_f1 import ToolCallF1  # noqa: E402

SEEN = """\
strict_order=False, searches for b, c and d expected: bcd 1.00 | dcb 1.00 | abc 0.00 | bcz 0.67 | bc 0.00
strict_order=True, searches for b, c and d expected: bcd 1.00 | dcb 0.33 | abc 0.00 | bcz 0.67 | bc 0.00
F1, searches for b, c and d expected: bcd 1.00 | dcb 1.00 | abc 0.67 | bcz 0.67 | bc 0.80
delete(path, force) for delete(path): accuracy 1.00, F1 0.00
delete(n='5') for delete(n=5): accuracy 1.00, F1 0.00
another order of keys: accuracy 0.00, F1 1.00
five times the same: accuracy 0.00, F1 1.00
no call for none: accuracy 1.00, F1 0.00"""


def search(*queries):
    return [ToolCall(name="search", args={"query": query}) for query in queries]


def delete(**args):
    return [ToolCall(name="delete", args=args)]


def score(metric, made, expected):
    said = [AIMessage(content="", tool_calls=made)]
    return f"{asyncio.run(metric.ascore(user_input=said, reference_tool_calls=expected)).value:.2f}"


free, strict, f1 = ToolCallAccuracy(strict_order=False), ToolCallAccuracy(), ToolCallF1()
lines = []
for name, metric in (("strict_order=False", free), ("strict_order=True", strict), ("F1", f1)):
    shown = [f"{made} {score(metric, search(*made), search(*'bcd'))}" for made in ("bcd", "dcb", "abc", "bcz", "bc")]
    lines.append(f"{name}, searches for b, c and d expected: {' | '.join(shown)}")
objects = {"of": {"a": 1, "b": 2}}, {"of": {"b": 2, "a": 1}}
pairs = {
    "delete(path, force) for delete(path)": (delete(path="x", force=True), delete(path="x")),
    "delete(n='5') for delete(n=5)": (delete(n="5"), delete(n=5)),
    "another order of keys": (delete(**objects[0]), delete(**objects[1])),
    "five times the same": (search(*"bbbbb"), search("b")),
    "no call for none": ([], []),
}
for name, (made, expected) in pairs.items():
    lines.append(f"{name}: accuracy {score(strict, made, expected)}, F1 {score(f1, made, expected)}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/calls.py"
