#!/usr/bin/env bash
# lm-eval 0.4.13: hendrycks_math takes everything from the first dollar sign of a response to the last for its answer, and
# looks at no box; aime takes a box, but not 073 for 73.
#
# Guessed: the answer is in the last box of the response, as in the reference, whose box is what it is compared with.
# Seen (2026-11-30, lm-eval 0.4.13; the tasks' own process_results on responses made here): of a solution with two formulas,
# hendrycks_math takes both and the words between them, so that it is wrong; of one without dollar signs the whole text. So
# only a response that is the bare answer, or has one formula, can be right, and a chat model that explains scores about 0 on
# MATH. The aime tasks read the last box, and without one the same stretch of text: "The answer is 73." is wrong. The official
# answers have three digits; a box with 073 is wrong for the gold 73. Take minerva_math's column math_verify, or grade the
# logged samples with a parser.
#
#   hendrycks_math, right: 73 | $73$ | So it is $73$. | \frac{146}{2}, no: $73$
#   hendrycks_math, wrong: $\boxed{73}$ | \boxed{73} | $x+1=74$, so $x=73$. | $x+1=74$, so $\boxed{73}$. | The answer is 73. | **73**
#   aime24, right: 73 | $73$ | \boxed{73} | $\boxed{73}$ | $x+1=74$, so $\boxed{73}$.
#   aime24, wrong: \boxed{073} | The answer is 73. | **73** | $x+1=74$, so $x=73$. | \boxed{73.}
#
# Exits with a status other than 0 if any of this differs. It runs lm-eval's own files; the gold is 73, and datasets, which
# they import, a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps lm-eval==0.4.13
cat >"$folder/boxes.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from pathlib import Path
from unittest.mock import MagicMock

sys.modules["datasets"] = MagicMock()


def grader(task):
    file = Path(sysconfig.get_paths()["purelib"], f"lm_eval/tasks/{task}/utils.py")
    spec = importlib.util.spec_from_file_location(task, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.process_results


BOX = r"\boxed{73}"
STEPS, BOXED = "$x+1=74$, so $x=73$.", rf"$x+1=74$, so ${BOX}$."
SAID = "The answer is 73."
SEEN = [
    ("hendrycks_math", "right", ["73", "$73$", "So it is $73$.", r"\frac{146}{2}, no: $73$"]),
    ("hendrycks_math", "wrong", [f"${BOX}$", BOX, STEPS, BOXED, SAID, "**73**"]),
    ("aime24", "right", ["73", "$73$", BOX, f"${BOX}$", BOXED]),
    ("aime24", "wrong", [r"\boxed{073}", SAID, "**73**", STEPS, r"\boxed{73.}"]),
]
TASKS = {
    "hendrycks_math": (grader("hendrycks_math"), {"solution": rf"So it is ${BOX}$."}),
    "aime24": (grader("aime"), {"Answer": 73}),
}
same = True
for task, said, responses in SEEN:
    grade, row = TASKS[task]
    found = [response for response in responses if grade(row, [response])["exact_match"] == (said == "right")]
    print(f"{task}, {said}:", " | ".join(found))
    same &= found == responses
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/boxes.py" 2>/dev/null
