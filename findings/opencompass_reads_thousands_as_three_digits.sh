#!/usr/bin/env bash
# opencompass 0.5.4: GSM8K reads "70,000" as 000, so right answers with a comma are wrong, and 1,018 is right for 18. Its
# comparison of formulas takes 2a + b for 2 + b, and 12,3 for 1,23; without a box, 3.5 is 3.
#
# Guessed: the last number counts with its commas, as they are taken out of the gold; formulas are the same if they are so but
# for spaces and fonts.
# Seen (2026-11-30, opencompass 0.5.4; the functions of its default GSM8K, and math_postprocess_v2 with MATHEvaluator, version
# v2, on responses made here): GSM8K's reader knows no comma, and the part behind the last comma is compared as a number. GSM8K
# has golds of 1,000 and more, and chat models write them with a comma, so a model that writes more carefully scores less.
# MATHEvaluator, which many configurations of MATH, and some of GSM8K and AIME 2024, have, takes "a " for an article, \cdot for
# nothing, j for i, \le for <, any unit for any other, and the commas of a list of numbers for those of thousands. A response
# without a box is cut at the first full stop, that of a decimal as well. Use the configurations with MATHVerifyEvaluator.
#
#   GSM8K:
#   gold 70,000: right: 70000 | The answer is 70000.
#   gold 70,000: wrong: 70,000 | The answer is $70,000.
#   gold 18: right: 18 | 1,018 | The answer is 5,018.
#   MATHEvaluator:
#   2 + b: right: \boxed{2 + b} | \boxed{2a + b}
#   1,23: right: \boxed{1,23} | \boxed{12,3} | \boxed{123}
#   5 \text{ feet}: right: \boxed{5 \text{ inches}} | \boxed{5}
#   x < 5: right: \boxed{x < 5} | \boxed{x \le 5}
#   23: right: \boxed{23} | \boxed{2 \cdot 3}
#   3: right: The answer is 3. | The answer is 3.5.
#   3.5: wrong: The answer is 3.5.
#
# Exits with a status other than 0 if any of this differs. What OpenCompass imports beside these functions is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile mmengine-lite==0.11.0rc3 packaging
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps opencompass==0.5.4
cat >"$folder/answers.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(contents)


class Evaluator:
    """Stands in for the class that the evaluators extend."""

    def __init__(self, pred_postprocessor=None):
        pass


root = find_spec("opencompass").submodule_search_locations[0]
stand_in("datasets", Dataset=None, DatasetDict=None, concatenate_datasets=None)
stand_in("opencompass.utils", __path__=[f"{root}/utils"], get_data_path=None, get_logger=lambda: None)
stand_in("opencompass.openicl", __path__=[f"{root}/openicl"], BaseEvaluator=Evaluator, DatasetReader=None)
stand_in("opencompass.openicl.icl_evaluator", BaseEvaluator=Evaluator)
stand_in("opencompass.datasets", __path__=[f"{root}/datasets"])

from opencompass.datasets.gsm8k import Gsm8kEvaluator, gsm8k_dataset_postprocess, gsm8k_postprocess
from opencompass.datasets.math import MATHEvaluator, math_postprocess_v2


def gsm8k(response, gold):
    read, reference = gsm8k_postprocess(response), gsm8k_dataset_postprocess(f"So it is.\n#### {gold}")
    return Gsm8kEvaluator().score([read], [reference])["accuracy"]


def formulas(response, gold):
    return MATHEvaluator(version="v2").score([math_postprocess_v2(response)], [gold])["accuracy"]


CASES = {
    gsm8k: [
        ("70,000", "right", ["70000", "The answer is 70000."]),
        ("70,000", "wrong", ["70,000", "The answer is $70,000."]),
        ("18", "right", ["18", "1,018", "The answer is 5,018."]),
    ],
    formulas: [
        ("2 + b", "right", [r"\boxed{2 + b}", r"\boxed{2a + b}"]),
        ("1,23", "right", [r"\boxed{1,23}", r"\boxed{12,3}", r"\boxed{123}"]),
        (r"5 \text{ feet}", "right", [r"\boxed{5 \text{ inches}}", r"\boxed{5}"]),
        ("x < 5", "right", [r"\boxed{x < 5}", r"\boxed{x \le 5}"]),
        ("23", "right", [r"\boxed{23}", r"\boxed{2 \cdot 3}"]),
        ("3", "right", ["The answer is 3.", "The answer is 3.5."]),
        ("3.5", "wrong", ["The answer is 3.5."]),
    ],
}
same = True
for grade, cases in CASES.items():
    print("GSM8K:" if grade is gsm8k else "MATHEvaluator:")
    for gold, verdict, responses in cases:
        found = [response for response in responses if (grade(response, gold) == 100) == (verdict == "right")]
        print(f"gold {gold}: {verdict}:" if grade is gsm8k else f"{gold}: {verdict}:", " | ".join(found))
        same &= found == responses
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/answers.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
