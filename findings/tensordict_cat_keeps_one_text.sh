#!/usr/bin/env bash
# tensordict 0.10.0: torch.cat of rows that carry a string as NonTensorData silently keeps the first row's string for all.
#
# Guessed: a column of strings is concatenated like a column of numbers, as torch.stack does it; and an array of strings, one
# a row, is sliced with the rows.
# Seen (2026-11-27, tensordict 0.10.0, torch 2.13.0, CPU): two one-row batches with the uid "a" and "b" become a batch of two
# rows whose uid is "a". Both then belong to the first prompt, and a group baseline by uid mixes two problems. torch.stack of
# the same rows keeps both, and torch.cat does if they hold a NonTensorStack. What a column is depends on what it was made of:
# a list of strings is one string a row; a numpy array of the same strings is one value that every row has in full.
#
#   stacked: ['a', 'b']
#   concatenated, NonTensorData: a
#   concatenated, NonTensorStack: ['a', 'b']
#   the first row, of a list: a
#   the first row, of an array: ['a', 'b']
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 tensordict==0.10.0 numpy
cat >"$folder/rows.py" <<'PYTHON'
import sys

import numpy as np
import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict


def shown(value):
    return str(value) if isinstance(value, str) else [str(one) for one in value]


def row(uid):
    return TensorDict({"reward": torch.ones(1), "uid": uid}, batch_size=[1])


data = [row(NonTensorData(uid, batch_size=[1])) for uid in "ab"]
stacks = [row(NonTensorStack(uid)) for uid in "ab"]
columns = {
    "a list": TensorDict({"uid": ["a", "b"]}, batch_size=[2]),
    "an array": TensorDict({"uid": np.array(["a", "b"])}, batch_size=[2]),
}
found = {
    "stacked": torch.stack([one[0] for one in data])["uid"],
    "concatenated, NonTensorData": torch.cat(data)["uid"],
    "concatenated, NonTensorStack": torch.cat(stacks)["uid"],
} | {f"the first row, of {kind}": column[0]["uid"] for kind, column in columns.items()}
for what, value in found.items():
    print(f"{what}: {shown(value)}")
sys.exit([shown(value) for value in found.values()] != [["a", "b"], "a", ["a", "b"], "a", ["a", "b"]])
PYTHON
"$folder/venv/bin/python" "$folder/rows.py" 2>/dev/null
