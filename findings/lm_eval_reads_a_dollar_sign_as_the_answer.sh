#!/usr/bin/env bash
# lm-eval 0.4.13: GSM8K's flexible-extract takes "$." for a number: a response that ends in $\boxed{18}$. is wrong. Its
# strict filter reads "The answer is 18" as 1.
#
# Guessed: flexible-extract compares the last number of a response with the gold, whatever surrounds it; the strict filter
# wants the sentence of its examples, and finds the number or nothing.
# Seen (2026-11-30, lm-eval 0.4.13; gsm8k_cot_zeroshot on responses made here, the gold is 18): the last run of two or more of
# the signs $ . , and digits counts, with a digit in it or not. So a box between dollar signs with a full stop behind it, the
# way that models trained on mathematics end, is wrong, and so is any formula with a full stop or comma behind it that does
# not end in the number, a display between $$, and an ellipsis. 18.00 is no 18. "The answer is" must have a number right
# behind it, and one more character after that: without a full stop the last digit is taken for it. So a model's accuracy is
# in part that of its layout, and training changes layouts. Other tasks have the same filter, among them gsm8k,
# gsm8k_platinum and mgsm. Grade the logged samples again with a parser of mathematics.
#
#   flexible-extract:
#   right: So \boxed{18}. | So $18$. | So $18$, as needed. | So **18**. | $$18$$ | $\boxed{18}$ | The answer is 18
#   wrong: So $\boxed{18}$. | So $18 \text{ eggs}$. | So 18 is $x$. | $$\n18\n$$ | So 18... | 18.00
#   strict-match:
#   right: The answer is 18. | The answer is 18 eggs
#   wrong: The answer is 18 | The answer is $18$. | The answer is **18**. | The answer is \boxed{18}.
#   read as 1: The answer is 18
#
# Exits with a status other than 0 if any of this differs. It runs lm-eval's own task; the rows of GSM8K and the model are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check lm-eval==0.4.13 datasets==5.2.0
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/layouts.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import lm_eval
import yaml
from lm_eval.api.model import LM

BOX = "\\boxed{18}"
CASES = {
    "flexible-extract": (
        [f"So {BOX}.", "So $18$.", "So $18$, as needed.", "So **18**.", "$$18$$", f"${BOX}$", "The answer is 18"],
        [f"So ${BOX}$.", "So $18 \\text{ eggs}$.", "So 18 is $x$.", "$$\n18\n$$", "So 18...", "18.00"],
    ),
    "strict-match": (
        ["The answer is 18.", "The answer is 18 eggs"],
        ["The answer is 18", "The answer is $18$.", "The answer is **18**.", f"The answer is {BOX}."],
    ),
}
RESPONSES = sorted({response for sides in CASES.values() for side in sides for response in side})


class Said(LM):
    """A model that gives row i the i-th response."""

    def generate_until(self, requests, **_):
        return [RESPONSES[request.doc_id] for request in requests]

    def loglikelihood(self, requests):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


rows = Path(sys.argv[1]) / "rows.jsonl"
row = json.dumps({"question": "How many eggs are left of 20?", "answer": "She eats 2.\n#### 18"})
rows.write_text("\n".join([row] * len(RESPONSES)))
task = yaml.safe_load((Path(lm_eval.__file__).parent / "tasks/gsm8k/gsm8k-cot-zeroshot.yaml").read_text())
del task["tag"], task["dataset_name"]
files = {"train": str(rows), "test": str(rows)}
task |= {"task": "here", "dataset_path": "json", "dataset_kwargs": {"data_files": files}}
samples = lm_eval.simple_evaluate(model=Said(), tasks=[task], log_samples=True, bootstrap_iters=0)["samples"]["here"]
scores = {(sample["filter"], RESPONSES[sample["doc_id"]]): sample for sample in samples}

same = True
for name, sides in CASES.items():
    print(f"{name}:")
    for said, score, seen in zip(("right", "wrong"), (1.0, 0.0), sides, strict=True):
        found = [response for side in sides for response in side if scores[name, response]["exact_match"] == score]
        print(f"{said}:", " | ".join(response.replace("\n", "\\n") for response in found))
        same &= found == seen
(read,) = scores["strict-match", "The answer is 18"]["filtered_resps"]
print(f"read as {read}: The answer is 18")
sys.exit(not (same and read == "1"))
PYTHON
"$folder/venv/bin/python" "$folder/layouts.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
