#!/usr/bin/env bash
# lm-eval 0.4.13: in IFEval, a letter that is none of a to z is replaced by one drawn at random, and the language of a response
# is found by chance: one response passes in one row and fails in the next, and English in capitals is German.
#
# Guessed: IFEval's checks are programs that always say the same of the same response; "at least 4 times #" counts the #; what
# passes strictly passes loosely; English in capitals is English.
# Seen (2026-11-30, lm-eval 0.4.13, langdetect 1.0.9; lm-eval's own task on rows and responses made here, each 200 times): for a
# letter such as # or ! (IFEval's rows 1122 and 1129 have them, as public repositories quote the data) each check draws one of a
# to z and counts that. Four hashtags alone never pass; a text without any passes about one time in four. The strict and the
# loose check draw anew, so some responses pass strictly and fail loosely. lm-eval's seed fixes the letters for one order of
# rows; another set of tasks has others. langdetect has a random state of its own, which no seed of lm-eval reaches: the verdict
# on a text in capitals can change from run to run. Some short ones always fail, taken for German or Somali; in lowercase they
# are English. Rewards made of these checks have such labels, too. Set langdetect.DetectorFactory.seed, leave the two rows out,
# and check capitals without the language.
#
#   at least 4 times #:
#   strictly never, loosely never: #autumn #leaves #walk #forest
#   strictly sometimes, loosely sometimes: Walked in the forest all afternoon. #autumn #leaves #walk #forest
#   strictly sometimes, loosely sometimes: Walked in the forest all afternoon. No tags.
#   rows of these that pass strictly and fail loosely: some
#   English, in capitals:
#   strictly never, loosely never: BUY MORE, PAY LESS! OUR SALE STARTS TODAY!
#   strictly never, loosely never: YES, YOU SHOULD TAKE AN UMBRELLA.
#   strictly sometimes, loosely sometimes: MY NAME IS JOHN AND I LIVE IN LONDON.
#   strictly always, loosely always: THE WIND IS COLD, THE NIGHT IS LONG.
#   English, in lowercase:
#   strictly always, loosely always: yes, you should take an umbrella tomorrow.
#
# Exits with a status other than 0 if any of this differs. It runs lm-eval's own task; the rows of IFEval and the model are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check lm-eval==0.4.13 datasets==5.2.0 langdetect==1.0.9 \
  immutabledict==4.3.1 nltk==3.10.4
mkdir "$folder/nltk" "$folder/tasks"
export HF_HOME=$folder/home HF_HUB_OFFLINE=1 NLTK_DATA=$folder/nltk
cat >"$folder/letters.py" <<'PYTHON'
import json
import sys
from collections import Counter
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

TIMES = 200
HASHES = ("keywords:letter_frequency", {"let_relation": "at least", "letter": "#", "let_frequency": 4})
CASES = {
    "at least 4 times #": (
        *HASHES,
        {
            "#autumn #leaves #walk #forest": "never",
            "Walked in the forest all afternoon. #autumn #leaves #walk #forest": "sometimes",
            "Walked in the forest all afternoon. No tags.": "sometimes",
        },
    ),
    "English, in capitals": (
        "change_case:english_capital",
        {},
        {
            "BUY MORE, PAY LESS! OUR SALE STARTS TODAY!": "never",
            "YES, YOU SHOULD TAKE AN UMBRELLA.": "never",
            "MY NAME IS JOHN AND I LIVE IN LONDON.": "sometimes",
            "THE WIND IS COLD, THE NIGHT IS LONG.": "always",
        },
    ),
    "English, in lowercase": (
        "change_case:english_lowercase",
        {},
        {"yes, you should take an umbrella tomorrow.": "always"},
    ),
}
ROWS = [
    (check, settings, response)
    for check, settings, responses in CASES.values()
    for response in responses
    for _ in range(TIMES)
]


class Said(LM):
    """A model that gives row i the i-th response."""

    def generate_until(self, requests, **_):
        return [ROWS[request.doc_id][2] for request in requests]

    def loglikelihood(self, requests):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def often(passed):
    return {0: "never", TIMES: "always"}.get(passed, "sometimes")


folder = Path(sys.argv[1])
rows = folder / "rows.jsonl"
with rows.open("w") as lines:
    for key, (check, settings, _) in enumerate(ROWS):
        kwargs = [{name: settings.get(name) for name in HASHES[1]}]
        print(json.dumps({"key": key, "prompt": "Write.", "instruction_id_list": [check], "kwargs": kwargs}), file=lines)
task = Path(lm_eval.__file__).parent / "tasks/ifeval/ifeval.yaml"
data = f"dataset_path: json\ndataset_kwargs:\n  data_files: {rows}\n"
(folder / "tasks/here.yaml").write_text(f"include: {task}\ntask: here\n{data}")
manager = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
found = lm_eval.simple_evaluate(model=Said(), tasks=["here"], task_manager=manager, log_samples=True, bootstrap_iters=0)
strict, loose, odd = Counter(), Counter(), 0
for sample in found["samples"]["here"]:
    check, _, response = ROWS[sample["doc_id"]]
    strictly, loosely = sample["prompt_level_strict_acc"], sample["prompt_level_loose_acc"]
    strict[response] += strictly
    loose[response] += loosely
    odd += check == HASHES[0] and strictly and not loosely

same = odd > 0
for name, (check, _, responses) in CASES.items():
    print(f"{name}:")
    for response, seen in responses.items():
        print(f"strictly {often(strict[response])}, loosely {often(loose[response])}: {response}")
        same &= often(strict[response]) == often(loose[response]) == seen
    if check == HASHES[0]:
        print("rows of these that pass strictly and fail loosely:", "some" if odd else "none")
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/letters.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
