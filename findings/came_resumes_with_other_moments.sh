#!/usr/bin/env bash
# came-pytorch 0.1.3, torch 2.13.0: a CAME that is loaded from a state dict on bfloat16 weights has its moments in bfloat16, not
# in float32 as before: they no longer change, and its steps are others from then on.
#
# Guessed: after state_dict and load_state_dict an optimizer goes on bit for bit, whatever the weights' dtype.
# Seen (2026-11-30, came-pytorch 0.1.3, torch 2.13.0, CPU; a matrix whose gradients fall to a hundredth where the run is cut
# off): CAME keeps its moments in float32 for any weights. torch.optim.Optimizer.load_state_dict, which it inherits, turns what
# an optimizer keeps for a weight into the weight's dtype. In bfloat16 a moment loses nothing by a step with a beta of
# 0.999, so CAME still divides by the gradients of before the resume: after 3,000 steps its steps are 1.3 times the learning
# rate, and 5.9 times where nothing was cut off. Nothing is said, and the state dict itself is right. On float32 weights the
# two runs are the same. It holds for any optimizer of one's own that keeps float32 beside bfloat16 weights; transformers'
# Adafactor turns its moments back. After load_state_dict, put the saved tensors into optimizer.state yourself.
#
#   mean size of a step, in learning rates, 100, 1000 and 3000 steps after the cut:
#   weights bfloat16, going on: 1.38, 2.24, 5.86; moments float32
#   weights bfloat16, resumed: 1.32, 1.32, 1.32; moments bfloat16
#   weights float32, going on: 1.38, 2.24, 5.86; moments float32
#   weights float32, resumed: 1.38, 2.24, 5.86; moments float32
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps came-pytorch==0.1.3
cat >"$folder/moments.py" <<'PYTHON'
import copy
import sys

import torch
from came_pytorch import CAME

LR, BEFORE = 1e-3, 50
SHOWN = (100, 1000, 3000)


def gradient(step):
    """Noisy, and a hundredth of its size from the resume on."""
    noise = torch.randn(64, 32, generator=torch.Generator().manual_seed(step))
    return (1 + 0.3 * noise) * (1 if step < BEFORE else 0.01)


def trained(dtype, resumed):
    """The mean size of some steps after the resume, in learning rates, and the dtypes of the moments."""
    weights = torch.nn.Parameter(torch.zeros(64, 32, dtype=dtype))
    optimizer = CAME([weights], lr=LR, betas=(0.9, 0.999, 0.9999), weight_decay=0.0)
    sizes = {}
    for step in range(BEFORE + max(SHOWN)):
        if step == BEFORE and resumed:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = CAME([weights], lr=LR, betas=(0.9, 0.999, 0.9999), weight_decay=0.0)
            optimizer.load_state_dict(state)
        # Each step starts at 0, so that rounding to the weights' dtype has no part in its size.
        weights.data.zero_()
        weights.grad = gradient(step).to(dtype)
        optimizer.step()
        sizes[step - BEFORE + 1] = weights.detach().float().abs().mean().item() / LR
    moments = {str(value.dtype) for name, value in optimizer.state[weights].items() if name.startswith("exp_avg")}
    return ", ".join(f"{sizes[step]:.2f}" for step in SHOWN), " and ".join(sorted(moments))


SEEN = """\
weights bfloat16, going on: 1.38, 2.24, 5.86; moments float32
weights bfloat16, resumed: 1.32, 1.32, 1.32; moments bfloat16
weights float32, going on: 1.38, 2.24, 5.86; moments float32
weights float32, resumed: 1.38, 2.24, 5.86; moments float32"""

lines = []
for dtype in (torch.bfloat16, torch.float32):
    for resumed in (False, True):
        sizes, moments = trained(dtype, resumed)
        lines.append(f"weights {dtype}, {'resumed' if resumed else 'going on'}: {sizes}; moments {moments}")
print("mean size of a step, in learning rates, 100, 1000 and 3000 steps after the cut:")
print("\n".join(lines).replace("torch.", ""))
sys.exit("\n".join(lines).replace("torch.", "") != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/moments.py" 2>/dev/null
