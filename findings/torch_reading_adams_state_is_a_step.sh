#!/usr/bin/env bash
# torch 2.13.0: reading the state of an AdamW that has not stepped yet changes the training that follows.
#
# Guessed: torch.distributed.checkpoint.state_dict.get_optimizer_state_dict only reads; a run that saves its state at step 0
# continues like one that does not.
# Seen (2026-11-27, torch 2.13.0, CPU, float32; a linear layer of 4 weights, rate 0.1): if there is no state to read, the
# function creates one by a step on zero gradients at rate 0. The weights stay, but the step counter stands at 1. The bias
# correction then treats the first real step as the second of two, one of which saw no gradient. The step is 0.74 of what it
# should be, and the runs diverge. The same holds wherever the moments were dropped in between, as after a reset of a
# reference. SGD, which counts no steps, is not affected, and optimizer.state_dict() does nothing of the kind.
#
#   AdamW: steps counted after 3 of them 4, first step 0.74 of the one without reading
#   SGD: steps counted after 3 of them none, first step 1.00 of the one without reading
#   AdamW by state_dict(): steps counted after 3 of them 3, first step 1.00 of the one without reading
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
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict


def steps(optimizer_class, read):
    """The first step's size, and how many steps the optimizer counted after three."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1, bias=False)
    optimizer = optimizer_class(model.parameters(), lr=0.1, weight_decay=0.0)
    before = model.weight.detach().clone()
    read(model, optimizer)
    sizes, rows = [], torch.randn(8, 4)
    for _ in range(3):
        optimizer.zero_grad()
        (model(rows) - 1).square().mean().backward()
        optimizer.step()
        sizes.append((model.weight.detach() - before).norm().item())
    counts = [int(state["step"]) for state in optimizer.state.values() if "step" in state]
    return sizes[0], counts[0] if counts else None


READS = {
    "AdamW": (torch.optim.AdamW, get_optimizer_state_dict),
    "SGD": (torch.optim.SGD, get_optimizer_state_dict),
    "AdamW by state_dict()": (torch.optim.AdamW, lambda model, optimizer: optimizer.state_dict()),
}
SEEN = {"AdamW": (4, 0.74), "SGD": (None, 1.0), "AdamW by state_dict()": (3, 1.0)}
changed = False
for name, (optimizer_class, read) in READS.items():
    (size, count), (usual, _) = steps(optimizer_class, read), steps(optimizer_class, lambda model, optimizer: None)
    share, counted = round(size / usual, 2), "none" if count is None else count
    print(f"{name}: steps counted after 3 of them {counted}, first step {share:.2f} of the one without reading")
    changed |= (count, share) != SEEN[name]
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/steps.py" 2>/dev/null
