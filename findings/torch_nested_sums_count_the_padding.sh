#!/usr/bin/env bash
# torch 2.13.0: sum, mean, max and any of a nested tensor made by narrow count the padding that it leaves out.
#
# Guessed: torch.nested.narrow(padded, 1, starts, lengths, layout=torch.jagged) is the rows without their padding, for every
# operation that it has.
# Seen (2026-11-29, torch 2.13.0, CPU): it is a view, and its values() are those of the padded tensor. numel(), unbind(),
# contiguous() and arithmetic go by the lengths; sum(), mean(), max() and any() over everything go by the values, so that a
# loss averaged that way contains the padding, and divides by it. So does the sum of a product. Over one dimension, sum(1) and
# others raise. verl 0.9.1 makes such tensors of logits and entropies where padding is not removed, and takes them apart by
# unbind() before it does anything else, which is right. Call contiguous() first.
#
#   rows: [[1.0, 2.0], [3.0]], elements: 3
#   sum: 306.0, of contiguous() 6.0
#   mean: 51.0, of contiguous() 2.0
#   max: 100.0, of contiguous() 3.0
#   sum of twice: 612.0, of contiguous() 12.0
#   any over 50: True, of contiguous() False
#   sum(1): RuntimeError, of contiguous() [3.0, 3.0]
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/nested.py" <<'PYTHON'
import sys

import torch

PADDED = torch.tensor([[1.0, 2.0, 100.0], [3.0, 100.0, 100.0]])
SEEN = {
    "sum": ("306.0", "6.0"),
    "mean": ("51.0", "2.0"),
    "max": ("100.0", "3.0"),
    "sum of twice": ("612.0", "12.0"),
    "any over 50": ("True", "False"),
    "sum(1)": ("RuntimeError", "[3.0, 3.0]"),
}
REDUCE = {
    "sum": lambda rows: rows.sum(),
    "mean": lambda rows: rows.mean(),
    "max": lambda rows: rows.max(),
    "sum of twice": lambda rows: (rows * 2).sum(),
    "any over 50": lambda rows: (rows > 50).any(),
    "sum(1)": lambda rows: rows.sum(1),
}


def text(reduce, rows):
    try:
        return str(reduce(rows).tolist())
    except RuntimeError as error:
        return type(error).__name__


rows = torch.nested.narrow(PADDED, 1, torch.tensor([0, 0]), torch.tensor([2, 1]), layout=torch.jagged)
lists = [row.tolist() for row in rows.unbind()]
print(f"rows: {lists}, elements: {rows.numel()}")
changed = (lists, rows.numel()) != ([[1.0, 2.0], [3.0]], 3)
for what, reduce in REDUCE.items():
    found = (text(reduce, rows), text(reduce, rows.contiguous()))
    print(f"{what}: {found[0]}, of contiguous() {found[1]}")
    changed |= found != SEEN[what]
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/nested.py"
