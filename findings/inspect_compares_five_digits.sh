#!/usr/bin/env bash
# inspect-ai 0.3.285: match(numeric=True) compares the first five digits: 123457 is right for 123456. It reads no box, but the
# number before it.
#
# Guessed: numbers are compared as numbers, and the last one of the response counts, boxed or not; what cannot be read is
# wrong.
# Seen (2026-11-30, inspect-ai 0.3.285, a task with match(numeric=True), as for GSM8K): both numbers are rounded to five
# significant digits. So from 100000 on a wrong integer passes if it is near: one hundred thousand and one for one hundred
# thousand. A word counts if all of it is a number, apart from signs such as ( ! * $. So a box, x=18, 18% and 18km are passed
# over for the last number that stands alone: "7 + 11 = \boxed{18}" is right for 11 and wrong for 18. Nothing in the log says
# so but the answer that was read. Take exact() on an extracted answer for large integers, math() for boxes, or ask for the
# bare number on the last line.
#
#   right: 123457 for 123456 | 100001 for 100000 | 1234567 for 1234568 | 7 + 11 = \boxed{18} for 11 | So 5 eggs, x=18 for 5
#   right: 18.00 for 18 | **18** for 18 | 1,234 for 1234
#   wrong: 99999 for 99998 | 7 + 11 = \boxed{18} for 18 | \boxed{18} for 18 | x=18 for 18 | 18% for 18 | 18km for 18
#
# Exits with a status other than 0 if any of this differs. The model is inspect's own mock model.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
export INSPECT_LOG_DIR=$folder/logs
cat >"$folder/digits.py" <<'PYTHON'
import sys

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

SUM, EGGS = r"7 + 11 = \boxed{18}", "So 5 eggs, x=18"
SEEN = [
    ("C", [("123457", "123456"), ("100001", "100000"), ("1234567", "1234568"), (SUM, "11"), (EGGS, "5")]),
    ("C", [("18.00", "18"), ("**18**", "18"), ("1,234", "1234")]),
    ("I", [("99999", "99998"), (SUM, "18"), (r"\boxed{18}", "18"), ("x=18", "18"), ("18%", "18"), ("18km", "18")]),
]


def said(text):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


pairs = [pair for _, line in SEEN for pair in line]
samples = [Sample(input="How many?", target=target, id=row) for row, (_, target) in enumerate(pairs)]
model = get_model("mockllm/model", custom_outputs=[said(response) for response, _ in pairs])
task = Task(dataset=samples, solver=generate(), scorer=match(numeric=True))
(log,) = run(task, model=model, max_samples=1, max_connections=1, display="none")
assert log.status == "success"
scores = {}
for sample in log.samples:
    assert sample.output.completion == pairs[sample.id][0]
    scores[pairs[sample.id]] = sample.scores["match"].value

same = True
for value, line in SEEN:
    found = [pair for pair in line if scores[pair] == value]
    print({"C": "right:", "I": "wrong:"}[value], " | ".join(f"{response} for {target}" for response, target in found))
    same &= found == line
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/digits.py"
