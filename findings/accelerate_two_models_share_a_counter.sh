#!/usr/bin/env bash
# accelerate 1.15.0: with an accumulate() block for each of two models and 2 accumulation steps, the first model is stepped only
# at the end of the dataloader, and the second on every micro-batch.
#
# Guessed: in a loop with `with accelerator.accumulate(actor)` and `with accelerator.accumulate(critic)`, each model steps on
# every second micro-batch: the block names the model.
# Seen (2026-11-30, accelerate 1.15.0, torch 2.13.0, one CPU process; 8 micro-batches, whose gradients are 1): the accelerator
# counts the blocks, whichever model they name. With two blocks in the loop and 2 steps the actor's blocks have the odd numbers
# and the critic's the even ones: the actor's optimizer.step() does nothing before the dataloader's last batch, and then takes
# one step that is four times too large; the critic steps on every micro-batch, half as far. With 4 steps it is much the same;
# with 3, both step on every third micro-batch. So an actor does not train, and its loss is logged all the same.
# Name both models in one block: accumulate(actor, critic).
#
#   2 steps, 1 block:
#   actor 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00
#   critic 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00
#   2 steps, 2 blocks:
#   actor 0.00 0.00 0.00 0.00 0.00 0.00 0.00 4.00
#   critic 0.50 0.50 0.50 0.50 0.50 0.50 0.50 0.50
#   3 steps, 2 blocks:
#   actor 0.00 0.67 0.00 0.00 1.00 0.00 0.00 1.00
#   critic 0.00 0.00 1.00 0.00 0.00 1.00 0.00 0.67
#   4 steps, 2 blocks:
#   actor 0.00 0.00 0.00 0.00 0.00 0.00 0.00 2.00
#   critic 0.00 0.50 0.00 0.50 0.00 0.50 0.00 0.50
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check accelerate==1.15.0 torch==2.13.0 numpy
cat >"$folder/models.py" <<'PYTHON'
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def train(steps, blocks):
    """How far each of 8 micro-batches moves the actor and the critic."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=steps)
    models = [torch.nn.Linear(1, 1, bias=False) for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=1.0) for model in models]
    loader, *rest = accelerator.prepare(DataLoader([torch.ones(1)] * 8, batch_size=1), *models, *optimizers)
    models, optimizers = rest[:2], rest[2:]
    moves = [[], []]

    def step(number, batch):
        before = models[number].weight.item()
        accelerator.backward(models[number](batch).sum())
        optimizers[number].step()
        optimizers[number].zero_grad()
        moves[number].append(f"{before - models[number].weight.item():.2f}")

    for batch in loader:
        if blocks == 1:
            with accelerator.accumulate(*models):
                step(0, batch)
                step(1, batch)
        else:
            for number in (0, 1):
                with accelerator.accumulate(models[number]):
                    step(number, batch)
    return [f"actor {' '.join(moves[0])}", f"critic {' '.join(moves[1])}"]


lines = []
for steps, blocks in ((2, 1), (2, 2), (3, 2), (4, 2)):
    lines.append(f"{steps} steps, {blocks} block{'s' * (blocks - 1)}:")
    lines += train(steps, blocks)
SEEN = """\
2 steps, 1 block:
actor 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00
critic 0.00 1.00 0.00 1.00 0.00 1.00 0.00 1.00
2 steps, 2 blocks:
actor 0.00 0.00 0.00 0.00 0.00 0.00 0.00 4.00
critic 0.50 0.50 0.50 0.50 0.50 0.50 0.50 0.50
3 steps, 2 blocks:
actor 0.00 0.67 0.00 0.00 1.00 0.00 0.00 1.00
critic 0.00 0.00 1.00 0.00 0.00 1.00 0.00 0.67
4 steps, 2 blocks:
actor 0.00 0.00 0.00 0.00 0.00 0.00 0.00 2.00
critic 0.00 0.50 0.00 0.50 0.00 0.50 0.00 0.50"""
print("\n".join(lines))
sys.exit(lines != SEEN.splitlines())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/models.py"
