#!/usr/bin/env bash
# datasets 5.2.0: the JSON loader rewrites answers: dates become datetimes, and one integer beyond 64 bits turns a whole
# column into floats.
#
# Guessed: a JSON string stays a string; an integer that does not fit is refused, as Dataset.from_list refuses it.
# Seen (2026-11-27, datasets 5.2.0, pyarrow 26.0.1): if all answers of a file have the form "2024-03-01", they become
# datetimes, also inside a structure such as reward_model. One row of another form keeps all of them strings. "2024-03" and
# "12:30" are safe. A file with the integers 3 and 2**64 gives 3.0 and 1.8446744073709552e+19: the large one loses its last
# digits, and each small one, as text, is "3.0" for a grader of strings. Counting problems have such answers.
#
#   dates: datetime.datetime(2024, 3, 1, 0, 0)
#   dates in a structure: datetime.datetime(2024, 3, 1, 0, 0)
#   a date beside a word: '2024-03-01'
#   months: '2024-03'
#   3 beside 2**63 - 1: 3
#   3 beside 2**64: 3.0
#   2**64: 1.8446744073709552e+19
#   from_list, 3 beside 2**64: OverflowError
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1
export HF_HOME=$folder/home
cat >"$folder/answers.py" <<'PYTHON'
import json
import sys
from pathlib import Path

import datasets
from datasets import Dataset, load_dataset

datasets.disable_progress_bars()
FOLDER = Path(sys.argv[1])


def loaded(*answers):
    """The answers as the loader gives them, from a file of a row each."""
    file = FOLDER / f"{len(list(FOLDER.glob('*.jsonl')))}.jsonl"
    file.write_text("\n".join(json.dumps({"answer": answer}) for answer in answers))
    return load_dataset("json", data_files=str(file), split="train")["answer"][:]


def from_list(*answers):
    try:
        return repr(Dataset.from_list([{"answer": answer} for answer in answers])["answer"][0])
    except Exception as error:
        return type(error).__name__


DATE = "datetime.datetime(2024, 3, 1, 0, 0)"
CASES = {
    "dates": (repr(loaded("2024-03-01", "1999-12-31")[0]), DATE),
    "dates in a structure": (repr(loaded({"gold": "2024-03-01"})[0]["gold"]), DATE),
    "a date beside a word": (repr(loaded("2024-03-01", "never")[0]), "'2024-03-01'"),
    "months": (repr(loaded("2024-03", "1999-12")[0]), "'2024-03'"),
    "3 beside 2**63 - 1": (repr(loaded(3, 2**63 - 1)[0]), "3"),
    "3 beside 2**64": (repr(loaded(3, 2**64)[0]), "3.0"),
    "2**64": (repr(loaded(3, 2**64)[1]), "1.8446744073709552e+19"),
    "from_list, 3 beside 2**64": (from_list(3, 2**64), "OverflowError"),
}
for what, (found, _) in CASES.items():
    print(f"{what}: {found}")
sys.exit(any(found != seen for found, seen in CASES.values()))
PYTHON
"$folder/venv/bin/python" "$folder/answers.py" "$folder" 2>/dev/null
