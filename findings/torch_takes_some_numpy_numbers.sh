#!/usr/bin/env bash
# torch 2.13.0: a numpy.float64 or numpy.int64 can be put into a float32 tensor, a numpy.float32 or numpy.bool_ cannot.
#
# Guessed: if wider types can be assigned, so can the tensor's own type.
# Seen (2026-11-27, torch 2.13.0, numpy 2.3.5): `tensor[-1] = score` raises TypeError for numpy.float32, float16 and bool_,
# and accepts numpy.float64, int64, int32 and Python's bool. torch.tensor([score]) accepts all of them. verl 0.9.1 puts a
# reward into its row by the first form. So a reward function that returns `(a == b)` of arrays, or the mean of a float32
# array, fails where the same in float64 does not. One that usually returns 0.0 early fails at the first response that gets to
# the end.
#
#   goes in: float64, int64, int32, bool of Python
#   TypeError: float32, float16, bool
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat >"$folder/assigned.py" <<'PYTHON'
import sys

import numpy as np
import torch

SCORES = {
    "float64": np.float64(1), "int64": np.int64(1), "int32": np.int32(1), "bool of Python": True,
    "float32": np.float32(1), "float16": np.float16(1), "bool": np.bool_(True),
}
found = {"goes in": [], "TypeError": []}
for name, score in SCORES.items():
    if torch.tensor([score], dtype=torch.float32).item() != 1:
        sys.exit(1)
    row = torch.zeros(3)
    try:
        row[-1] = score
        found["goes in"].append(name)
    except TypeError:
        found["TypeError"].append(name)
for outcome, names in found.items():
    print(f"{outcome}: {', '.join(names)}")
sys.exit(found["TypeError"] != ["float32", "float16", "bool"])
PYTHON
"$folder/venv/bin/python" "$folder/assigned.py" 2>/dev/null
