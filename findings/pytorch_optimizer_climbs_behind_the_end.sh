#!/usr/bin/env bash
# pytorch-optimizer 4.1.0: behind t_max the learning rate of LinearScheduler falls below zero, so that training climbs, and that
# of CosineScheduler goes back up; that of PolyScheduler is many times max_lr long before.
#
# Guessed: a schedule goes from max_lr to min_lr, stays there behind its last step, as torch's LinearLR does, and leaves the
# range between the two at no time.
# Seen (2026-11-30, pytorch-optimizer 4.1.0, torch 2.13.0, CPU; 100 steps, 10 of them warm-up, max_lr ten times min_lr, then 100
# more; learning rates over max_lr): LinearScheduler's line goes on past min_lr and past 0, no optimizer minds a negative
# learning rate, and the loss rises. CosineScheduler is back near max_lr after as many steps more. PolyScheduler adds the
# square root of the steps since the warm-up and never falls. get_wsd_schedule decays to 0, whatever min_lr_ratio is, and
# jumps to it behind the end. REXScheduler stays at min_lr. A run longer than t_max is easily had: by a count of batches that
# were to be divided by the accumulation's, or by resuming with more epochs. Stop at t_max, or use torch's or transformers'.
#
#   learning rate of steps 1, 11, 12, 50, 100, 101, 110, 200; loss after steps 100 and 200
#   LinearScheduler: 0.10, 0.90, 1.00, 0.62, 0.12, 0.11, 0.02, -0.88; loss 0.112 and 0.516
#   CosineScheduler: 0.10, 0.90, 1.00, 0.66, 0.10, 0.10, 0.12, 0.98; loss 0.111 and 0.011
#   PolyScheduler: 0.10, 0.90, 1.00, 5.65, 8.54, 8.59, 9.01, 12.44; loss 0.000 and 0.000
#   REXScheduler: 0.10, 0.95, 0.95, 0.71, 0.12, 0.10, 0.10, 0.10; loss 0.073 and 0.049
#   get_wsd_schedule: 0.00, 1.00, 1.00, 1.00, 0.01, 0.10, 0.10, 0.10; loss 0.083 and 0.056
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps pytorch-optimizer==4.1.0
cat >"$folder/rates.py" <<'PYTHON'
import sys

import torch
from pytorch_optimizer import CosineScheduler, LinearScheduler, PolyScheduler, REXScheduler, get_wsd_schedule

STEPS, MOST, LEAST = 100, 1e-2, 1e-3
#: Steps of which the learning rate is shown; the last are behind the end.
SHOWN = (1, 11, 12, 50, 100, 101, 110, 200)
SIMPLE = {"LinearScheduler": LinearScheduler, "CosineScheduler": CosineScheduler, "PolyScheduler": PolyScheduler}


def made(name, optimizer):
    """A scheduler over so many steps with ten of warm-up, if it has one, from the largest learning rate to a tenth."""
    settings = {"t_max": STEPS, "max_lr": MOST, "min_lr": LEAST, "warmup_steps": 10}
    if name in SIMPLE:
        return SIMPLE[name](optimizer, **settings)
    if name == "REXScheduler":
        return REXScheduler(optimizer, total_steps=STEPS, max_lr=MOST, min_lr=LEAST)
    return get_wsd_schedule(optimizer, 10, 40, 50, min_lr_ratio=LEAST / MOST)


def run(name):
    """Of each step the learning rate over the largest, and behind it the loss, a parabola's."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=MOST)
    scheduler = made(name, optimizer)
    rates, losses = [], []
    for _ in range(max(SHOWN)):
        rates.append(optimizer.param_groups[0]["lr"] / MOST)
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()
        scheduler.step()
        losses.append(weight.item() ** 2)
    return rates, losses


SEEN = """\
LinearScheduler: 0.10, 0.90, 1.00, 0.62, 0.12, 0.11, 0.02, -0.88; loss 0.112 and 0.516
CosineScheduler: 0.10, 0.90, 1.00, 0.66, 0.10, 0.10, 0.12, 0.98; loss 0.111 and 0.011
PolyScheduler: 0.10, 0.90, 1.00, 5.65, 8.54, 8.59, 9.01, 12.44; loss 0.000 and 0.000
REXScheduler: 0.10, 0.95, 0.95, 0.71, 0.12, 0.10, 0.10, 0.10; loss 0.073 and 0.049
get_wsd_schedule: 0.00, 1.00, 1.00, 1.00, 0.01, 0.10, 0.10, 0.10; loss 0.083 and 0.056"""

lines = []
for name in (*SIMPLE, "REXScheduler", "get_wsd_schedule"):
    rates, losses = run(name)
    shown = ", ".join(f"{rates[step - 1]:.2f}" for step in SHOWN)
    lines.append(f"{name}: {shown}; loss {losses[99]:.3f} and {losses[199]:.3f}")
print(f"learning rate of steps {', '.join(map(str, SHOWN))}; loss after steps 100 and 200")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/rates.py" 2>/dev/null
