#!/usr/bin/env bash
# crfm-helm 0.5.16: GSM8K takes a comma behind the last number for the answer, so "18 dollars a day, in all." is wrong; GPQA and
# MMLU-Pro take the first letter behind the first "answer is", of any word; and an empty transcript has a word error rate of 0.
#
# Guessed: GSM8K compares the last number, as the metric is named; GPQA and MMLU-Pro read the letter of the sentence that their
# prompts ask for, at the end and in bold too, and "Answer: B"; a transcript without a word has an error rate of 1.
# Seen (2026-11-30, crfm-helm 0.5.16, jiwer 4.0.0; its functions for final_number_exact_match, chain_of_thought_correctness and
# wer_score on responses made here): a comma alone counts as a number, so GSM8K has nothing to compare once a comma that touches
# no digit follows the number; 18.00 is no 18, and a sum behind it, 9+9, is one number. The metric of GPQA and MMLU-Pro stops
# at the first "answer is" with a capital from A to J behind it: at a guess that the response takes back, and at the first
# letter of "Clearly". Its pattern for "Answer: B" asks for the characters "[aA]nswer:" as they stand, which no response has.
# And wer, mer and cer are 0, the best value, for an empty transcript. So accuracies depend on the layout of a model, and a
# model of speech that says nothing is the best. Grade the saved completions again.
#
#   gsm8k, 18: right: 18 dollars. | 18, in all. | \boxed{18}; wrong: 18 dollars a day, in all. | 18 eggs, | 18.00 | 18 (9+9)
#   gpqa, B: read as A: The answer is A? No. The correct answer is B.
#   gpqa, B: read as C: The correct answer is Clearly B
#   gpqa, B: not read: Answer: B | The answer is **B** | The final answer is: B
#   wer, the gold "it is raining": "it is raining" 0.0, "it was raining" 0.33, "snow" 1.0, "" 0
#
# Exits with a status other than 0 if any of this differs. What the two modules import and these functions do not use is a
# stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jiwer==4.0.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps crfm-helm==0.5.16
cat >"$folder/metrics.py" <<'PYTHON'
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType


class Name(type):
    """A name that the functions do not use, and the names in it."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(name, (), {"__init__": lambda *_, **__: None})


class Anything(ModuleType):
    __path__ = ()

    def __getattr__(self, name):
        return Name.__getattr__(None, name)


class StandIns:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("helm", "nltk", "rouge_score", "numpy"):
            return spec_from_file_location(name, loader=self)

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, _):
        pass


root = find_spec("helm").submodule_search_locations[0]
sys.modules["helm.benchmark.metrics.nltk_helper"] = helper = ModuleType("nltk_helper")
helper.install_nltk_resources = lambda: None
sys.meta_path.insert(0, StandIns())


def metrics(name):
    spec = spec_from_file_location(name, f"{root}/benchmark/metrics/{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference, gpqa = metrics("evaluate_reference_metrics"), metrics("gpqa_chain_of_thought_metric")
GSM8K = {
    "right": ["18 dollars.", "18, in all.", "\\boxed{18}"],
    "wrong": ["18 dollars a day, in all.", "18 eggs,", "18.00", "18 (9+9)"],
}
LETTERS = [
    ("A", "The answer is A? No. The correct answer is B."),
    ("C", "The correct answer is Clearly B"),
    (None, "Answer: B"),
    (None, "The answer is **B**"),
    (None, "The final answer is: B"),
]
RATES = {"it is raining": 0.0, "it was raining": 0.33, "snow": 1.0, "": 0}

same = gpqa.extract_answer("The correct answer is B.") == "B"
for verdict, responses in GSM8K.items():
    scores = [reference.final_number_exact_match("The answer is 18.", response) for response in responses]
    same &= scores == [verdict == "right"] * len(responses)
same &= all(gpqa.extract_answer(response) == letter for letter, response in LETTERS)
same &= reference.mer_score("it is raining", "") == reference.cer_score("it is raining", "") == 0
rates = {said: round(reference.wer_score("it is raining", said), 2) for said in RATES}
print("gsm8k, 18:", "; ".join(f"{verdict}: {' | '.join(responses)}" for verdict, responses in GSM8K.items()))
for letter, response in LETTERS[:2]:
    print(f"gpqa, B: read as {letter}: {response}")
print("gpqa, B: not read:", " | ".join(response for _, response in LETTERS[2:]))
print('wer, the gold "it is raining":', ", ".join(f'"{said}" {rate}' for said, rate in rates.items()))
sys.exit(not (same and rates == RATES))
PYTHON
"$folder/venv/bin/python" "$folder/metrics.py"
