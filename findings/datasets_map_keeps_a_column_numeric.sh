#!/usr/bin/env bash
# datasets 5.2.0: map() that turns a column of numbers into strings leaves it a column of numbers, as long as the strings can
# be read as numbers.
#
# Guessed: the column gets the type that the function returns, as a new column does.
# Seen (2026-11-27, datasets 5.2.0, pyarrow 26.0.1): under the same name, "7" comes out as 7, "007" as 7, "0.500" as 0.5 and
# "True" as True. Adding remove_columns=["answer"] does not help; under a new name all stay strings. If one of the first 1000
# rows is not a number, the whole column becomes strings; if the first such row comes later, map() raises. So
# `str(row["answer"])` in data preparation gives a grader of strings integers for one file and not for another. The other way
# round, numbers that replace strings, the type changes as returned. A cast of the column, or features=, avoids it.
#
#   "7": 7
#   "007": 7
#   "0.500": 0.5
#   "True": True
#   "7", column removed: 7
#   "7", new name: '7'
#   "7" beside "x": '7'
#   "7" in 1500 rows, then "x": ArrowInvalid
#   7 in place of "7": 7
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1
export HF_HOME=$folder/home
cat >"$folder/columns.py" <<'PYTHON'
import sys

import datasets
from datasets import Dataset

datasets.disable_progress_bars()


def mapped(value, function, rows=1, name="answer", **options):
    """The first row's value after a map over rows that hold the value."""
    data = Dataset.from_dict({"answer": [value] * rows})
    try:
        return repr(data.map(lambda row, index: {name: function(row, index)}, with_indices=True, **options)[0][name])
    except Exception as error:
        return type(error).__name__


CASES = {
    '"7"': (mapped(7, lambda row, index: str(row["answer"])), "7"),
    '"007"': (mapped(7, lambda row, index: f"{row['answer']:03d}"), "7"),
    '"0.500"': (mapped(0.5, lambda row, index: f"{row['answer']:.3f}"), "0.5"),
    '"True"': (mapped(True, lambda row, index: str(row["answer"])), "True"),
    '"7", column removed': (mapped(7, lambda row, index: str(row["answer"]), remove_columns=["answer"]), "7"),
    '"7", new name': (mapped(7, lambda row, index: str(row["answer"]), name="gold"), "'7'"),
    '"7" beside "x"': (mapped(7, lambda row, index: "x" if index else "7", rows=2), "'7'"),
    '"7" in 1500 rows, then "x"': (mapped(7, lambda row, index: "7" if index < 1500 else "x", rows=2500), "ArrowInvalid"),
    '7 in place of "7"': (mapped("7", lambda row, index: int(row["answer"])), "7"),
}
for what, (found, _) in CASES.items():
    print(f"{what}: {found}")
sys.exit(any(found != seen for found, seen in CASES.values()))
PYTHON
"$folder/venv/bin/python" "$folder/columns.py" 2>/dev/null
