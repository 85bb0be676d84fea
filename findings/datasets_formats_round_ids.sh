#!/usr/bin/env bash
# datasets 5.2.0: with_format("numpy") and ("torch") give integers as float32 if one of the batch is missing: ids beyond 2**24
# become their neighbours. Row by row they are exact.
#
# Guessed: a missing value makes float64 of integers, as in pandas, or raises; and a row has the numbers that its batch has.
# Seen (2026-11-30, datasets 5.2.0, torch 2.13.0; three rows, the third without an id): the ids 16777216 and 16777217 are
# one as soon as they are read together with the third row, and two without it, so grouping by id depends on the batch. Lists
# of tokens with a hole do the same; torch's DataLoader and map(batched=True) read by batches, too, and map writes down what
# it sees. numpy's float64 are float32 in a batch and float64 in a row: 1e-300 is 0. pandas' format is exact. Fill missing
# values before, or keep ids as strings.
#
#   numpy, id, all rows: float32 [16777216.0, 16777216.0, nan]
#   numpy, id, row by row: [16777216, 16777217, nan]
#   numpy, reward, all rows: float32 [0.10000000149011612, 0.30000001192092896, 0.0]
#   numpy, reward, row by row: [0.1, 0.3, 1e-300]
#   numpy, tokens, all rows: float32 [[16777216.0, 1.0], [2.0, nan], [3.0, 4.0]]
#   numpy, tokens, row by row: [[16777217, 1], [2.0, nan], [3, 4]]
#   torch, id, all rows: float32 [16777216.0, 16777216.0, nan]
#   torch, id, row by row: [16777216, 16777217, nan]
#   torch, reward, all rows: float32 [0.10000000149011612, 0.30000001192092896, 0.0]
#   torch, reward, row by row: [0.10000000149011612, 0.30000001192092896, 0.0]
#   torch, tokens, all rows: float32 [[16777216.0, 1.0], [2.0, nan], [3.0, 4.0]]
#   torch, tokens, row by row: [[16777217, 1], [2.0, nan], [3, 4]]
#   pandas, id, all rows: float64 [16777216.0, 16777217.0, nan]
#   pandas, reward, all rows: float64 [0.1, 0.3, 1e-300]
#   torch's DataLoader, id: [16777216.0, 16777216.0, nan]
#   numpy, id, copied by map(batched=True): float32 [16777216.0, 16777216.0, nan]
#   numpy, different ids of two rows: 2; read with the third: 1
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 pyarrow==26.0.1 torch==2.13.0 numpy==2.3.5
cat >"$folder/formats.py" <<'PYTHON'
import sys

import numpy as np
from datasets import Dataset
from torch.utils.data import DataLoader

LARGE = 2**24
ROWS = Dataset.from_dict(
    {
        "id": [LARGE, LARGE + 1, None],
        "tokens": [[LARGE + 1, 1], [2, None], [3, 4]],
        "reward": [0.1, 0.3, 1e-300],
    }
)


def shown(values):
    """Numbers as Python's, in lists."""
    return [shown(value) if np.ndim(value) else value.item() if hasattr(value, "item") else value for value in values]


SEEN = """\
numpy, id, all rows: float32 [16777216.0, 16777216.0, nan]
numpy, id, row by row: [16777216, 16777217, nan]
numpy, reward, all rows: float32 [0.10000000149011612, 0.30000001192092896, 0.0]
numpy, reward, row by row: [0.1, 0.3, 1e-300]
numpy, tokens, all rows: float32 [[16777216.0, 1.0], [2.0, nan], [3.0, 4.0]]
numpy, tokens, row by row: [[16777217, 1], [2.0, nan], [3, 4]]
torch, id, all rows: float32 [16777216.0, 16777216.0, nan]
torch, id, row by row: [16777216, 16777217, nan]
torch, reward, all rows: float32 [0.10000000149011612, 0.30000001192092896, 0.0]
torch, reward, row by row: [0.10000000149011612, 0.30000001192092896, 0.0]
torch, tokens, all rows: float32 [[16777216.0, 1.0], [2.0, nan], [3.0, 4.0]]
torch, tokens, row by row: [[16777217, 1], [2.0, nan], [3, 4]]
pandas, id, all rows: float64 [16777216.0, 16777217.0, nan]
pandas, reward, all rows: float64 [0.1, 0.3, 1e-300]
torch's DataLoader, id: [16777216.0, 16777216.0, nan]
numpy, id, copied by map(batched=True): float32 [16777216.0, 16777216.0, nan]
numpy, different ids of two rows: 2; read with the third: 1"""

lines = []
for name in ("numpy", "torch", "pandas"):
    rows = ROWS.with_format(name)
    for column in ("id", "reward", "tokens") if name != "pandas" else ("id", "reward"):
        whole = rows[:][column]
        kind = str(whole.dtype).removeprefix("torch.")
        lines.append(f"{name}, {column}, all rows: {kind} {shown(whole)}")
        if name != "pandas":
            lines.append(f"{name}, {column}, row by row: {shown([rows[row][column] for row in range(len(rows))])}")
(batch,) = DataLoader(ROWS.with_format("torch"), batch_size=3)
lines.append(f"torch's DataLoader, id: {shown(batch['id'])}")
copied = ROWS.with_format("numpy").map(lambda rows: {"copy": rows["id"]}, batched=True).with_format(None)
lines.append(f"numpy, id, copied by map(batched=True): {copied.features['copy'].dtype} {list(copied['copy'])}")
two, three = (ROWS.with_format("numpy")[:rows]["id"][:2] for rows in (2, 3))
lines.append(
    f"numpy, different ids of two rows: {len(set(two.tolist()))}; read with the third: {len(set(three.tolist()))}"
)
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
HF_HOME=$folder/home HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/formats.py" 2>/dev/null
