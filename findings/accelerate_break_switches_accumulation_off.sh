#!/usr/bin/env bash
# accelerate 1.15.0: after a loop over a second dataloader is left early, gradient accumulation in the training loop around it
# goes wrong: every micro-batch steps, or the last ones of the epoch never do.
#
# Guessed: a validation loop that is left by break, or one batch taken with next(iter(loader)), has no influence on
# accumulate() in the training loop, as a validation loop that runs to its end has none.
# Seen (2026-11-30, accelerate 1.15.0, torch 2.13.0, one CPU process; accumulation over 4 micro-batches, whose gradients are 1;
# 6 micro-batches an epoch): a prepared dataloader says goodbye only when its loop ends by itself. One that is left early stays
# the "active" one, and accumulate() asks it whether the epoch is over. If it was left at its last batch (a validation set of
# one batch, next(iter(loader))), the answer is yes from then on: the optimizer steps on each micro-batch with a quarter of its
# gradient, and accumulation is off for the rest of the epoch. If it was left before, the answer stays no: the last two
# micro-batches of the epoch take no step, and go into the first one of the next epoch. Iterate such loaders to their end, or
# do not prepare them.
#
#   steps on 6 micro-batches, a validation before the second:
#   no validation: 0.00 0.00 0.00 1.00 0.00 0.50
#   whole validation: 0.00 0.00 0.00 1.00 0.00 0.50
#   break at the last of 1 batches: 0.00 0.50 0.25 0.25 0.25 0.25
#   next(iter(loader)) of 1 batch: 0.00 0.50 0.25 0.25 0.25 0.25
#   break at the first of 2 batches: 0.00 0.00 0.00 1.00 0.00 0.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check accelerate==1.15.0 torch==2.13.0 numpy
cat >"$folder/accumulation.py" <<'PYTHON'
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def left_early(loader):
    for _ in loader:
        break


VALIDATIONS = {
    "no validation": (1, lambda loader: None),
    "whole validation": (1, list),
    "break at the last of 1 batches": (1, left_early),
    "next(iter(loader)) of 1 batch": (1, lambda loader: next(iter(loader))),
    "break at the first of 2 batches": (2, left_early),
}


def steps(batches, validate):
    """How far each micro-batch of an epoch moves the weight, with a validation before the second one."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model = torch.nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    train, validation = ([torch.ones(1)] * rows for rows in (6, batches))
    model, optimizer, train = accelerator.prepare(model, optimizer, DataLoader(train, batch_size=1))
    validation = accelerator.prepare(DataLoader(validation, batch_size=1))
    moves = []
    for number, batch in enumerate(train):
        if number == 1:
            validate(validation)
        before = model.weight.item()
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).sum())
            optimizer.step()
            optimizer.zero_grad()
        moves.append(f"{before - model.weight.item():.2f}")
    return " ".join(moves)


lines = [f"{name}: {steps(*validation)}" for name, validation in VALIDATIONS.items()]
SEEN = """\
no validation: 0.00 0.00 0.00 1.00 0.00 0.50
whole validation: 0.00 0.00 0.00 1.00 0.00 0.50
break at the last of 1 batches: 0.00 0.50 0.25 0.25 0.25 0.25
next(iter(loader)) of 1 batch: 0.00 0.50 0.25 0.25 0.25 0.25
break at the first of 2 batches: 0.00 0.00 0.00 1.00 0.00 0.00"""
print("steps on 6 micro-batches, a validation before the second:")
print("\n".join(lines))
sys.exit(lines != SEEN.splitlines())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/accumulation.py"
