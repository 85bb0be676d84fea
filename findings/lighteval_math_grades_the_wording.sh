#!/usr/bin/env bash
# lighteval 0.13.0: its MATH tasks compare the whole response with the whole reference solution; MATH-500 reads an answer in
# the form that its prompt asks for only if it is a number.
#
# Guessed: both extract the answer from response and solution and compare the two; "ANSWER: 2\sqrt{3}" on the last line is
# what MATH-500 wants.
# Seen (2026-11-30, lighteval 0.13.0, latex2sympy2_extended 1.0.6; the tasks' own prompts and metrics on a problem made here):
# the seven tasks math:algebra, math:geometry and so on name a normalizer that finds the box, under names that the metric does
# not have; they are set and not used. So maj@4 counts whole texts, and only a copy of the reference solution is right: any
# model scores 0. MATH-500 says that the final line MUST be "ANSWER: $ANSWER", without quotes. A root, a formula, an interval
# or a multiple of pi in that place is wrong without dollar signs, brackets of LaTeX or a box around it, and then the number
# in it is what was read. So its score measures the layout too, and models that were trained on boxes gain. Grade the saved
# responses with a parser that reads the line.
#
#   seven MATH tasks, four times the same response:
#   \boxed{2}: 0 0 0 0 0 0 0
#   the reference without its last full stop: 0 0 0 0 0 0 0
#   the reference: 1 1 1 1 1 1 1
#   MATH-500, the answer as it is | between dollar signs | in a box:
#   12: 1 1 1
#   \frac{3}{4}: 1 1 1
#   2\sqrt{3}: 0 1 1
#   \frac{\pi}{2}: 0 1 1
#   x^2+1: 0 1 1
#   (1,2): 0 1 1
#   10\%: 0 1 1
#   1,-2: 0 1 1
#
# Exits with a status other than 0 if any of this differs. The libraries that lighteval imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check latex2sympy2_extended==1.0.6 sympy==1.14.0 numpy==2.3.5 \
  pydantic==2.14.3 aenum==3.1.15 tqdm packaging
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps lighteval==0.13.0
cat >"$folder/tasks.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock


class StandIns:
    """Finds the libraries that lighteval imports and does not use here."""

    NAMES = (
        "accelerate datasets httpx huggingface_hub inspect_ai multiprocess nltk openai pandas pytablewriter requests "
        "rouge_score sacrebleu scipy sklearn torch transformers"
    ).split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, StandIns())
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.tasks import math, math_500

SOLUTION = r"We have $x+1=3$, so $x=\boxed{2}$."
ANSWERS = ["12", r"\frac{3}{4}", r"2\sqrt{3}", r"\frac{\pi}{2}", "x^2+1", "(1,2)", r"10\%", "1,-2"]


def score(task, prompt, solution, response):
    (metric,) = task.metrics
    doc = prompt({"problem": "What is it?", "solution": solution}, task.name)
    (value,) = metric.compute_sample(doc=doc, model_response=ModelResponse(text=[response] * 4)).values()
    return str(int(value))


lines = ["seven MATH tasks, four times the same response:"]
responses = {r"\boxed{2}": r"\boxed{2}", "the reference without its last full stop": SOLUTION[:-1], "the reference": SOLUTION}
for what, response in responses.items():
    scores = [score(task, math.math_prompt, SOLUTION, response) for task in math.TASKS_TABLE]
    lines.append(f"{what}: {' '.join(scores)}")
lines.append("MATH-500, the answer as it is | between dollar signs | in a box:")
for answer in ANSWERS:
    solution = rf"Therefore the value is $\boxed{{{answer}}}$."
    layouts = [answer, f"${answer}$", rf"\boxed{{{answer}}}"]
    scores = [score(math_500.math_500, math_500.math_500_prompt, solution, f"ANSWER: {layout}") for layout in layouts]
    lines.append(f"{answer}: {' '.join(scores)}")

SEEN = r"""seven MATH tasks, four times the same response:
\boxed{2}: 0 0 0 0 0 0 0
the reference without its last full stop: 0 0 0 0 0 0 0
the reference: 1 1 1 1 1 1 1
MATH-500, the answer as it is | between dollar signs | in a box:
12: 1 1 1
\frac{3}{4}: 1 1 1
2\sqrt{3}: 0 1 1
\frac{\pi}{2}: 0 1 1
x^2+1: 0 1 1
(1,2): 0 1 1
10\%: 0 1 1
1,-2: 0 1 1"""
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/tasks.py" 2>/dev/null
