#!/usr/bin/env bash
# tensordict 0.10.0: update_ and copy_ give a batch another's tensors and leave it its own strings; contiguous and gather lose
# the strings.
#
# Guessed: strings, a NonTensorStack as a list of them becomes, go with the tensors of their rows, in place as elsewhere.
# Seen (2026-11-30, tensordict 0.10.0, the newest that verl 0.9.1 allows, torch 2.13.0, CPU): after rows.update_(others) or
# copy_, the tokens are those of the others and the golds those of before, so each response is graded against another row's
# answer, and nothing is said. update, also with inplace=True, update_at_ and rows[:] = others change both. contiguous, also
# of a lazy_stack, and gather put an empty TensorDict in place of the strings. tensordict 0.15.3, tried once, does all
# of this as guessed. Use update, and index with [] where you would gather.
#
#   update_: [7, 8], ['gold 0', 'gold 1']
#   copy_: [7, 8], ['gold 0', 'gold 1']
#   update: [7, 8], ['gold 7', 'gold 8']
#   update(inplace=True): [7, 8], ['gold 7', 'gold 8']
#   rows[:] = others: [7, 8], ['gold 7', 'gold 8']
#   update_at_: [7, 8], ['gold 7', 'gold 8']
#   contiguous: [0, 1], TensorDict with 0 keys
#   contiguous of lazy_stack: [0, 1], TensorDict with 0 keys
#   gather: [0, 1], TensorDict with 0 keys
#   clone: [0, 1], ['gold 0', 'gold 1']
#   to_tensordict of lazy_stack: [0, 1], ['gold 0', 'gold 1']
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 tensordict==0.10.0 numpy
cat >"$folder/strings.py" <<'PYTHON'
import sys

import torch
from tensordict import NonTensorStack, TensorDict, lazy_stack


def batch(first):
    """Two rows, each with tokens, and with its gold as a string."""
    numbers = [first, first + 1]
    golds = NonTensorStack(*(f"gold {number}" for number in numbers))
    return TensorDict({"tokens": torch.tensor(numbers), "gold": golds}, [2])


def changed(change):
    rows = batch(0)
    change(rows, batch(7))
    return rows


CHANGES = {
    "update_": lambda rows, others: rows.update_(others),
    "copy_": lambda rows, others: rows.copy_(others),
    "update": lambda rows, others: rows.update(others),
    "update(inplace=True)": lambda rows, others: rows.update(others, inplace=True),
    "rows[:] = others": lambda rows, others: rows.__setitem__(slice(None), others),
    "update_at_": lambda rows, others: rows.update_at_(others, slice(None)),
}
COPIES = {
    "contiguous": lambda rows: rows.contiguous(),
    "contiguous of lazy_stack": lambda rows: lazy_stack(list(rows.unbind(0))).contiguous(),
    "gather": lambda rows: rows.gather(0, torch.tensor([0, 1])),
    "clone": lambda rows: rows.clone(),
    "to_tensordict of lazy_stack": lambda rows: lazy_stack(list(rows.unbind(0))).to_tensordict(),
}
SEEN = """\
update_: [7, 8], ['gold 0', 'gold 1']
copy_: [7, 8], ['gold 0', 'gold 1']
update: [7, 8], ['gold 7', 'gold 8']
update(inplace=True): [7, 8], ['gold 7', 'gold 8']
rows[:] = others: [7, 8], ['gold 7', 'gold 8']
update_at_: [7, 8], ['gold 7', 'gold 8']
contiguous: [0, 1], TensorDict with 0 keys
contiguous of lazy_stack: [0, 1], TensorDict with 0 keys
gather: [0, 1], TensorDict with 0 keys
clone: [0, 1], ['gold 0', 'gold 1']
to_tensordict of lazy_stack: [0, 1], ['gold 0', 'gold 1']"""


def told(name, rows):
    gold = rows.get("gold")
    texts = gold.tolist() if isinstance(gold, NonTensorStack) else f"{type(gold).__name__} with {len(gold.keys())} keys"
    return f"{name}: {rows['tokens'].tolist()}, {texts}"


lines = [told(name, changed(change)) for name, change in CHANGES.items()]
lines += [told(name, copy(batch(0))) for name, copy in COPIES.items()]
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/strings.py" 2>/dev/null
