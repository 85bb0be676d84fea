#!/usr/bin/env bash
# torch 2.13.0: within one autocast block, linear layers keep the weights of their first pass: steps of the optimizer, and
# weights that are swapped in, do not reach the next passes.
#
# Guessed: autocast casts weights as they are at each pass, or notices that they have changed: every tensor counts its changes.
# Seen (2026-11-30, torch 2.13.0, CPU, bfloat16; a layer of 8 inputs and 8 classes): the cast copy of a float32 weight that
# wants a gradient is kept until the outermost block ends, and changes of the weight are not looked at. In a block around the
# whole loop the loss stays what it was before the first step; with embeddings and norms, which are not cast, it falls, but
# slowly. Where the policy's and the reference's weights are swapped in one model within one block, the log-probabilities of
# the reference are those of the policy, and the KL is 0. A block within the block ends nothing. Weights that want no gradient
# are not kept. That gradients are lost after a pass under no_grad in the same block is mended in this version. The
# documentation wants a block around the forward pass alone; give each pass its own, or call torch.clear_autocast_cache()
# once weights have changed, or use cache_enabled=False.
#
#   loss at steps 1, 2 and 3 falls: a block for each step: yes, one block: no, it is the same
#   KL to the reference, weights swapped in: a block for each pass: 0.24, one block: 0.00, a block in the block: 0.00
#   one block with clear_autocast_cache: 0.24, with cache_enabled=False: 0.24, requires_grad_(False): 0.24
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat >"$folder/weights.py" <<'PYTHON'
import sys
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x, labels = torch.randn(64, 8), torch.randint(8, (64,))
policy, reference = (nn.Linear(8, 8).state_dict() for _ in range(2))


def block(**arguments):
    return torch.autocast("cpu", torch.bfloat16, **arguments)


def losses(whole, each):
    model = nn.Linear(8, 8)
    model.load_state_dict(policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    found = []
    with whole:
        for _ in range(3):
            with each():
                loss = F.cross_entropy(model(x).float(), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    return found


def kl(whole, each=nullcontext, trained=True, between=lambda: None):
    model = nn.Linear(8, 8).requires_grad_(trained)
    logs = []
    with whole:
        for weights in (policy, reference):
            model.load_state_dict(weights)
            with each(), torch.no_grad():
                logs.append(model(x).float().log_softmax(-1))
            between()
    return f"{F.kl_div(logs[1], logs[0], log_target=True, reduction='batchmean'):.2f}"


first, second, third = losses(nullcontext(), block)
falls = first > second > third
same = len(set(losses(block(), nullcontext))) == 1
found = [kl(nullcontext(), block), kl(block()), kl(block(), block)]
mended = [kl(block(), between=torch.clear_autocast_cache), kl(block(cache_enabled=False)), kl(block(), trained=False)]
steps = "yes" if falls else "no", "no, it is the same" if same else "yes"
print("loss at steps 1, 2 and 3 falls: a block for each step: {}, one block: {}".format(*steps))
swapped = "a block for each pass: {}, one block: {}, a block in the block: {}".format(*found)
print("KL to the reference, weights swapped in:", swapped)
print("one block with clear_autocast_cache: {}, with cache_enabled=False: {}, requires_grad_(False): {}".format(*mended))
sys.exit(not (falls and same and found == ["0.24", "0.00", "0.00"] and mended == ["0.24"] * 3))
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/weights.py" 2>/dev/null
