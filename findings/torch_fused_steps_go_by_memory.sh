#!/usr/bin/env bash
# torch 2.13.0: on CPU, a fused SGD, Adam, AdamW or Adagrad adds gradients to weights in the order of memory: those that
# torch.autograd.grad gives for an einsum or a bmm over experts go to other weights.
#
# Guessed: fused=True takes the same step as foreach=True, up to rounding, for each gradient of the weight's shape and type,
# or it raises an error.
# Seen (2026-11-30, torch 2.13.0, CPU; two experts' weights of 8 x 8 in one tensor, x and weights joined by einsum): backward()
# lays a gradient out as its weight is, so all is well. torch.autograd.grad leaves it as the formula gave it, here with the
# strides (8, 1, 16) beside the weight's (64, 8, 1). Whoever puts it into .grad, to weigh or project the gradients of several
# objectives, to clip them one by one, or to keep the critic's out of the trunk, gets the step of another gradient: the loss
# rises, and nothing warns. Without fused it is right. Trainer of transformers sets fused for AdamW by default. Copy such
# gradients into the weight's layout, torch.empty_like(weight).copy_(gradient), or leave fused out.
#
#   first step beside that with foreach, off by, with backward() and with torch.autograd.grad:
#   SGD: 0.00 and 0.02
#   Adam: 0.00 and 0.06
#   AdamW: 0.00 and 0.06
#   Adagrad: 0.00 and 0.06
#   loss of AdamW at the first and at the 30th step, fused: 13.8 and 17.3
#   loss of AdamW at the first and at the 30th step, foreach: 13.8 and 4.5
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/steps.py" <<'PYTHON'
import sys

import torch

torch.manual_seed(0)
STATES = torch.randn(64, 3, 8)


def experts(weight):
    return torch.einsum("bte,noe->bnto", STATES, weight)


WANTED = experts(torch.randn(2, 8, 8))


def train(optimizer, steps, by_backward, **how):
    """The weight after these steps, and the loss before and after them."""
    torch.manual_seed(1)
    weight = torch.nn.Parameter(torch.randn(2, 8, 8))
    stepper = optimizer([weight], lr=0.03, **how)
    losses = []
    for _ in range(steps):
        loss = (experts(weight) - WANTED).square().mean()
        losses.append(loss.item())
        if by_backward:
            stepper.zero_grad()
            loss.backward()
        else:
            (weight.grad,) = torch.autograd.grad(loss, [weight])
        stepper.step()
    return weight.detach(), losses


found = []
for name in ("SGD", "Adam", "AdamW", "Adagrad"):
    optimizer = getattr(torch.optim, name)
    off = []
    for by_backward in (True, False):
        fused, _ = train(optimizer, 1, by_backward, fused=True)
        other, _ = train(optimizer, 1, by_backward, foreach=True)
        off.append((fused - other).abs().max().item())
    found.append(f"{name}: {off[0]:.2f} and {off[1]:.2f}")
for name, how in (("fused", {"fused": True}), ("foreach", {"foreach": True})):
    _, losses = train(torch.optim.AdamW, 30, False, **how)
    found.append(f"loss of AdamW at the first and at the 30th step, {name}: {losses[0]:.1f} and {losses[-1]:.1f}")
found = "\n".join(found)

SEEN = """\
SGD: 0.00 and 0.02
Adam: 0.00 and 0.06
AdamW: 0.00 and 0.06
Adagrad: 0.00 and 0.06
loss of AdamW at the first and at the 30th step, fused: 13.8 and 17.3
loss of AdamW at the first and at the 30th step, foreach: 13.8 and 4.5"""
print("first step beside that with foreach, off by, with backward() and with torch.autograd.grad:")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/steps.py" 2>/dev/null
