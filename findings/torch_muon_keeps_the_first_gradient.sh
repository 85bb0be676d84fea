#!/usr/bin/env bash
# torch 2.13.0: Muon with nesterov=False on bfloat16 parameters overwrites its momentum at every step: with small gradients the
# first one gives the direction for good.
#
# Guessed: nesterov=False leaves out the look-ahead and nothing else, and bfloat16 parameters step like float32 ones, up to
# rounding: 199 steps after a gradient, a momentum of 0.95 has forgotten it.
# Seen (2026-11-30, torch 2.13.0, CPU; a matrix of 8 x 8, one gradient A, then 199 gradients B orthogonal to A): Muon brings
# the update to norm 1 in place, in bfloat16. Without nesterov the update is the momentum buffer, and if that is bfloat16
# already, the buffer itself is brought to norm 1. So each new gradient is added to something of norm 1, whatever its own norm:
# with gradients of norm 1 that is nearly right; with norm 0.1, as one matrix has of a clipped gradient, the first one is still
# the larger part after 200 steps, with norm 0.01 it is all there is; and the steps follow. Use nesterov=True, or keep the
# parameters in float32. A saved optimizer holds such momentum, too.
#
#   norm of the gradients: cosine of the momentum with A and with B, its norm; cosine of the last step with A and with B
#   float32, nesterov=True, 0.1: 0.00 and 1.00, 0.10; 0.00 and 0.86
#   float32, nesterov=False, 0.1: 0.00 and 1.00, 0.10; 0.00 and 0.86
#   bfloat16, nesterov=True, 0.1: 0.00 and 1.00, 0.09; 0.00 and 0.86
#   bfloat16, nesterov=False, 1: 0.03 and 1.00, 1.00; 0.01 and 0.86
#   bfloat16, nesterov=False, 0.1: 0.73 and 0.64, 1.00; 0.60 and 0.47
#   bfloat16, nesterov=False, 0.01: 1.00 and 0.01, 1.00; 0.81 and 0.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/muon.py" <<'PYTHON'
import sys

import torch

torch.manual_seed(0)
A, B = torch.linalg.qr(torch.randn(64, 2)).Q.T.reshape(2, 8, 8)
CASES = [
    (torch.float32, True, 0.1),
    (torch.float32, False, 0.1),
    (torch.bfloat16, True, 0.1),
    (torch.bfloat16, False, 1),
    (torch.bfloat16, False, 0.1),
    (torch.bfloat16, False, 0.01),
]


def cosines(tensor):
    with_a, with_b = ((tensor.float() * side).sum().item() / tensor.float().norm().item() for side in (A, B))
    return f"{with_a:.2f} and {with_b:.2f}".replace("-0.00", "0.00")


lines = []
for dtype, nesterov, norm in CASES:
    weight = torch.nn.Parameter(torch.zeros(8, 8, dtype=dtype))
    optimizer = torch.optim.Muon([weight], lr=1.0, weight_decay=0.0, nesterov=nesterov)
    for gradient in [A] + [B] * 199:
        weight.data.zero_()
        weight.grad = (norm * gradient).to(dtype)
        optimizer.step()
    momentum = optimizer.state[weight]["momentum_buffer"]
    name = f"{str(dtype).removeprefix('torch.')}, nesterov={nesterov}, {norm}"
    lines.append(f"{name}: {cosines(momentum)}, {momentum.float().norm():.2f}; {cosines(-weight.detach())}")

SEEN = """\
float32, nesterov=True, 0.1: 0.00 and 1.00, 0.10; 0.00 and 0.86
float32, nesterov=False, 0.1: 0.00 and 1.00, 0.10; 0.00 and 0.86
bfloat16, nesterov=True, 0.1: 0.00 and 1.00, 0.09; 0.00 and 0.86
bfloat16, nesterov=False, 1: 0.03 and 1.00, 1.00; 0.01 and 0.86
bfloat16, nesterov=False, 0.1: 0.73 and 0.64, 1.00; 0.60 and 0.47
bfloat16, nesterov=False, 0.01: 1.00 and 0.01, 1.00; 0.81 and 0.00"""
print("norm of the gradients: cosine of the momentum with A and with B, its norm; cosine of the last step with A and with B")
print("\n".join(lines))
sys.exit(lines != SEEN.splitlines())
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/muon.py"
