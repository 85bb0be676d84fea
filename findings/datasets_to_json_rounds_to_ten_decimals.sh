#!/usr/bin/env bash
# datasets 5.2.0: Dataset.to_json writes ten decimals: a probability of 3e-12 becomes 0.0, and a datetime a number.
#
# Guessed: what to_json writes and load_dataset reads is what was there, as with Parquet, and as json.dumps writes floats.
# Seen (2026-11-30, datasets 5.2.0, pandas 3.1.1): floats are rounded to ten decimals, in lists and nested columns too. So
# what is smaller than 5e-11 becomes 0.0, such as the probabilities of rare tokens, whose logarithm is then minus infinity;
# from 1e-16 down, numbers are written with an exponent and kept, so that 3e-17 is more than 3e-12 afterwards. Of a
# log-probability ten decimals remain. A datetime becomes a whole number of milliseconds, and comes back as an integer.
# Parquet and CSV keep the floats. Nothing is said. Save numbers that are computed with again as Parquet; double_precision=15
# is the most that to_json takes.
#
#   written and read as JSON, then with double_precision=15, as Parquet, as CSV:
#   3e-12: 0.0, 3e-12, 3e-12, 3e-12
#   3e-17: 3e-17, 3e-17, 3e-17, 3e-17
#   -2.302585092994046: -2.302585093, -2.302585092994046, -2.302585092994046, -2.302585092994046
#   0.1234567890123456: 0.123456789, 0.123456789012346, 0.1234567890123456, 0.1234567890123456
#   in a list, as JSON: [3e-12, 0.5] becomes [0.0, 0.5]
#   a datetime of 2024 with microseconds, as JSON: 1704164645123
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pandas==3.1.1 pyarrow==26.0.1
export HF_HOME=$folder/home
cat >"$folder/written.py" <<'PYTHON'
import sys
from datetime import datetime
from pathlib import Path

import datasets
from datasets import Dataset, load_dataset

datasets.disable_progress_bars()
folder = Path(sys.argv[1])
FLOATS = [3e-12, 3e-17, -2.302585092994046, 0.1234567890123456]


def again(value, kind, **options):
    """The value of a dataset's only row after it was written as a file and read."""
    file = str(folder / f"{len(list(folder.iterdir()))}.{kind}")
    getattr(Dataset.from_dict({"value": [value]}), f"to_{kind}")(file, **options)
    return load_dataset(kind, data_files=file, split="train")[0]["value"]


lines = []
for value in FLOATS:
    found = [again(value, "json"), again(value, "json", double_precision=15), again(value, "parquet"), again(value, "csv")]
    lines.append(f"{value}: {', '.join(map(str, found))}")
lines.append(f"in a list, as JSON: [3e-12, 0.5] becomes {again([3e-12, 0.5], 'json')}")
moment = again(datetime(2024, 1, 2, 3, 4, 5, 123456), "json")
lines.append(f"a datetime of 2024 with microseconds, as JSON: {moment}")
SEEN = """\
3e-12: 0.0, 3e-12, 3e-12, 3e-12
3e-17: 3e-17, 3e-17, 3e-17, 3e-17
-2.302585092994046: -2.302585093, -2.302585092994046, -2.302585092994046, -2.302585092994046
0.1234567890123456: 0.123456789, 0.123456789012346, 0.1234567890123456, 0.1234567890123456
in a list, as JSON: [3e-12, 0.5] becomes [0.0, 0.5]
a datetime of 2024 with microseconds, as JSON: 1704164645123"""
found = "\n".join(lines)
print("written and read as JSON, then with double_precision=15, as Parquet, as CSV:")
print(found)
sys.exit(found != SEEN)
PYTHON
mkdir "$folder/files"
"$folder/venv/bin/python" "$folder/written.py" "$folder/files" 2>/dev/null
