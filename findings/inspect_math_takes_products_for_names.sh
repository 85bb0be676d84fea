#!/usr/bin/env bash
# inspect-ai 0.3.285: math() takes ab for one variable, but in LaTeX for a times b: ab/2 is wrong for \frac{ab}{2}, and xy for
# yx.
#
# Guessed: both sides are parsed alike, so that equal formulas are equal in whatever notation.
# Seen (2026-11-30, inspect-ai 0.3.285, latex2sympy2_extended 1.11.0, sympy 1.14.0): a formula is tried as a plain expression
# first, where letters side by side are one name, and as LaTeX only if that fails: on a backslash, a brace behind ^, a number
# before a letter, a bracket behind one, or a space between letters. In LaTeX each letter is a variable. So a product is equal
# to itself only in the same notation and order; with a number in front, as 2ab, both are read as LaTeX. log without a
# backslash is the natural logarithm, \log the decimal one. A formula with letters is wrong as often as the model writes it in
# another way than the gold, and training towards the gold's notation counts as learning. Write golds and ask for answers with
# a * between letters.
#
#   wrong: ab/2 for \frac{ab}{2} | \frac{ab}{2} for ab/2 | ab for a*b | xy for yx | mc^2 for m c^2 | xe^x for x e^x
#   wrong: pq+qr for q(p+r) | ax+b for a \cdot x+b | 2pi for 2\pi
#   wrong: log(100) for \log 100 | log(100) for 2
#   right: ab for ab | a*b for b*a | a*b/2 for \frac{ab}{2} | 2ab for 2ab | x(x+1) for x^2+x
#   right: 2*pi for 2\pi | \log 100 for 2
#
# Exits with a status other than 0 if any of this differs. The model is inspect's own mock model; each answer is in a box.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285 \
  latex2sympy2_extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.9.3
export INSPECT_LOG_DIR=$folder/logs
cat >"$folder/products.py" <<'PYTHON'
import sys

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import math
from inspect_ai.solver import generate

HALF = r"\frac{ab}{2}"
SEEN = [
    ("I", [("ab/2", HALF), (HALF, "ab/2"), ("ab", "a*b"), ("xy", "yx"), ("mc^2", "m c^2"), ("xe^x", "x e^x")]),
    ("I", [("pq+qr", "q(p+r)"), ("ax+b", r"a \cdot x+b"), ("2pi", r"2\pi")]),
    ("I", [("log(100)", r"\log 100"), ("log(100)", "2")]),
    ("C", [("ab", "ab"), ("a*b", "b*a"), ("a*b/2", HALF), ("2ab", "2ab"), ("x(x+1)", "x^2+x")]),
    ("C", [("2*pi", r"2\pi"), (r"\log 100", "2")]),
]


def said(text):
    output = ModelOutput.from_content("mockllm/model", rf"\boxed{{{text}}}")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


if __name__ == "__main__":
    pairs = [pair for _, line in SEEN for pair in line]
    samples = [Sample(input="What is it?", target=target, id=row) for row, (_, target) in enumerate(pairs)]
    model = get_model("mockllm/model", custom_outputs=[said(response) for response, _ in pairs])
    task = Task(dataset=samples, solver=generate(), scorer=math())
    (log,) = run(task, model=model, max_samples=1, max_connections=1, display="none")
    assert log.status == "success"
    scores = {}
    for sample in log.samples:
        score = sample.scores["math"]
        assert score.answer == pairs[sample.id][0] and score.metadata["math_scorer_status"] in ("correct", "incorrect")
        scores[pairs[sample.id]] = score.value

    same = True
    for value, line in SEEN:
        found = [pair for pair in line if scores[pair] == value]
        print({"C": "right:", "I": "wrong:"}[value], " | ".join(f"{response} for {target}" for response, target in found))
        same &= found == line
    sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/products.py"
