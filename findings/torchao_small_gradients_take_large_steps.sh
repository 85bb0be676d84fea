#!/usr/bin/env bash
# torchao 0.18.0: in its AdamW of 8 bits a weight whose gradient is small beside its neighbours' takes steps of many times the
# learning rate; in that of 4 bits it does not move.
#
# Guessed: moments of 8 or 4 bits are coarse, but each weight still takes steps of about the learning rate, as Adam does
# whatever the size of its gradient.
# Seen (2026-11-29, torchao 0.18.0, torch 2.13.0, CPU; 4096 weights, no weight decay): 256 neighbours (128 in 4 bits) share a
# scale, that of the largest. A weight with a gradient 1e-4 of that has a second moment 1e-8 of the largest, which AdamW8bit
# and AdamWFp8 round to 0. Its first moment stays. The second begins anew each time, and the bias correction lets the steps
# grow with the square root of their number, up to 1/sqrt(1 - beta2) = 32 (after 1000 they were 22.5 and 24.2). AdamW4bit has
# no 0 for the second moment, rounds the first to 0, and leaves the weight where it is. One spike does the same: after a
# gradient of 1e4 in one weight of a block, the others take steps 2.6 (AdamW8bit) and 14.7 times (AdamWFp8) as large as
# before, 400 steps later, and still growing. At 1e-2 of the largest gradient steps in 8 bits were right to 2 %, and a small
# model shows nothing: tensors of fewer than 4096 weights keep full precision. Neither a clipped norm nor a low learning rate
# bounds such a step.
#
#   steps of a weight with a small gradient, in learning rates, the first, 20th and 200th:
#   AdamW: 1.0, 1.0, 1.0
#   AdamW8bit: 1.0, 4.0, 12.1
#   AdamWFp8: 1.0, 4.3, 13.0
#   AdamW4bit: 1.0, 0.0, 0.0
#   steps of a weight just before a neighbour's spike, and 400 later:
#   AdamW: 1.0, 1.0
#   AdamW8bit: 1.0, 2.6
#   AdamWFp8: 1.0, 14.7
#   AdamW4bit: 1.0, 0.0
#
# Exits with a status other than 0 if any of this differs. torch.compile is left out; with it the first 20 steps were the
# same.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchao==0.18.0 numpy
cat >"$folder/steps.py" <<'PYTHON'
import sys

import torch

torch.compile = lambda function, **options: function

from torchao.optim import AdamW4bit, AdamW8bit, AdamWFp8  # noqa: E402

RATE, SMALL = 1e-3, 1e-4
SEEN = {
    torch.optim.AdamW: ("1.0, 1.0, 1.0", "1.0, 1.0"),
    AdamW8bit: ("1.0, 4.0, 12.1", "1.0, 2.6"),
    AdamWFp8: ("1.0, 4.3, 13.0", "1.0, 14.7"),
    AdamW4bit: ("1.0, 0.0, 0.0", "1.0, 0.0"),
}


def steps(kind, at, gradient, large, spike=None):
    """Of the second weight, where the first of each 64 has the large gradient, or has it in one step."""
    weight = torch.nn.Parameter(torch.zeros(64, 64))
    optimizer = kind([weight], lr=RATE, weight_decay=0.0)
    found = []
    for step in range(1, at[-1] + 1):
        before = float(weight.detach()[0, 1])
        weight.grad = torch.full_like(weight, gradient)
        if spike in (None, step):
            weight.grad[:, 0] = large
        optimizer.step()
        if step in at:
            found.append(f"{abs(float(weight.detach()[0, 1]) - before) / RATE:.1f}")
    return ", ".join(found)


found = {
    kind: (steps(kind, (1, 20, 200), SMALL, 1.0), steps(kind, (99, 500), 1.0, 1e4, spike=100)) for kind in SEEN
}
for i, what in enumerate(("beside a large gradient", "before and after a spike")):
    for kind, texts in found.items():
        print(f"{what}, {kind.__name__}: {texts[i]}")
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/steps.py" 2>/dev/null
