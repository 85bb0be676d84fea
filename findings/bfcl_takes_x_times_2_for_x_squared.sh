#!/usr/bin/env bash
# bfcl-eval 2026.3.23: the Berkeley Function Calling Leaderboard compares strings without their stars, slashes, signs and points:
# x*2 and x-2 are right for x**2, the longitude 118.2437 for -118.2437, and the version 21.3 for 2.1.3.
#
# Guessed: strings are compared without spaces, case and the punctuation of dates, as its comment says; another formula, number
# or address is wrong.
# Seen (2026-11-30, bfcl-eval 2026.3.23; its checker of calls on its own rows and gold answers, with the gold's first choice
# and one string changed): in every string argument, in lists and dicts too, the signs , . / - _ * ^ and spaces are taken out
# of both sides before they are compared. So the operators of a formula are no part of it, but for the plus, nor is a minus, a
# decimal point, or the place of the points of an address or a version. Rows on derivatives, integrals, coordinates and
# servers pass with arguments that give another result. The same holds for training on these checks as a reward: nothing in
# them teaches an operator. Compare the strings of such rows exactly; a list of what is allowed is in each row already.
#
#   x**2: right with x*2, x-2, x/2, x^2; wrong with x+2, x**3
#   3x**2 + 2x - 1: right with 3x/2 + 2x*1; wrong with 3x**2 - 2x - 1
#   34.0522, -118.2437: right with 34.0522, 118.2437, 340.522, -1182.437; wrong with 34.0523, -118.2437
#   192.168.0.12: right with 192.16.80.12, 19.216.80.12; wrong with 192.168.0.13
#   2.1.3: right with 21.3, -2.13; wrong with 2.1.4
#
# Exits with a status other than 0 if any of this differs. The table of models, which imports a client of each, is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps bfcl-eval==2026.3.23
cat >"$folder/strings.py" <<'PYTHON'
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

models = ModuleType("bfcl_eval.constants.model_config")
models.MODEL_CONFIG_MAPPING = {"model": SimpleNamespace(underscore_to_dot=False)}
sys.modules[models.__name__] = models

from bfcl_eval.constants.enums import Language  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402

# The row, its string, and what is said in its place.
CASES = [
    ("simple_python_13", "x**2", ["x*2", "x-2", "x/2", "x^2"], ["x+2", "x**3"]),
    ("simple_python_14", "3x**2 + 2x - 1", ["3x/2 + 2x*1"], ["3x**2 - 2x - 1"]),
    (
        "live_simple_113-69-0",
        "34.0522, -118.2437",
        ["34.0522, 118.2437", "340.522, -1182.437"],
        ["34.0523, -118.2437"],
    ),
    ("live_multiple_73-33-0", "192.168.0.12", ["192.16.80.12", "19.216.80.12"], ["192.168.0.13"]),
    ("live_multiple_258-122-0", "2.1.3", ["21.3", "-2.13"], ["2.1.4"]),
]
data = Path(find_spec("bfcl_eval").submodule_search_locations[0]) / "data"


def row(folder, category, number):
    lines = (folder / f"BFCL_v4_{category}.json").read_text().splitlines()
    (found,) = [line for line in map(json.loads, lines) if line["id"] == number]
    return found


def first(choices):
    """The first of the allowed values; "" stands for an argument that may be left out."""
    value = next(choice for choice in choices if choice != "")
    if isinstance(value, dict):
        return {key: first(inner) for key, inner in value.items() if inner[0] != ""}
    return value


def changed(value, gold, said):
    if isinstance(value, dict):
        return {key: changed(inner, gold, said) for key, inner in value.items()}
    if isinstance(value, list):
        return [changed(inner, gold, said) for inner in value]
    return said if value == gold else value


def right(number, gold, said):
    category = number.rsplit("_", 1)[0]
    functions = row(data, category, number)["function"]
    answer = row(data / "possible_answer", category, number)["ground_truth"]
    ((name, allowed),) = answer[0].items()
    arguments = {key: first(choices) for key, choices in allowed.items() if choices[0] != ""}
    assert gold in json.dumps(arguments)
    call = [{name: changed(arguments, gold, said)}]
    return ast_checker(functions, call, answer, Language.PYTHON, category, "model")["valid"]


same = True
for number, gold, good, bad in CASES:
    same &= all(right(number, gold, said) for said in [gold, *good])
    same &= not any(right(number, gold, said) for said in bad)
    print(f"{gold}: right with {', '.join(good)}; wrong with {', '.join(bad)}")
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/strings.py"
