#!/usr/bin/env bash
# torch 2.13.0: the gradient through amax(), amin() or norm(inf) of a sharded DTensor is NaN on all ranks, unless rank 0 holds
# the extreme value. Through max() and min() it is right.
#
# Guessed: weight.abs().amax() of a sharded weight has the gradient of the whole weight's, as max() has, or raises.
# Seen (2026-11-30, torch 2.13.0, gloo, 2 CPU processes, weights of 4 x 4, sharded by row): the values are right. If the extreme
# value is in the rows of rank 0, so is the gradient; if it is in those of another rank, the gradient is infinite at that value
# and NaN everywhere else, on every rank. So w / w.abs().amax(), the scale of every absmax quantisation, works on one process
# and for some weights, and for the others one backward pass makes NaN of all their gradients. amax over a dimension is right,
# too. Use max() and min(), or detach the scale.
#
#   rank 0 holds the largest and the smallest weight:
#   w.amax(): value right, gradient right
#   w.amin(): value right, gradient right
#   w.norm(inf): value right, gradient right
#   (w / w.abs().amax()).square().sum(): value right, gradient right
#   w.max(): value right, gradient right
#   w.min(): value right, gradient right
#   (w / w.abs().max()).square().sum(): value right, gradient right
#   w.amax(0).sum(): value right, gradient right
#   rank 1 holds the largest and the smallest weight:
#   w.amax(): value right, gradient has 0 numbers of 16
#   w.amin(): value right, gradient has 0 numbers of 16
#   w.norm(inf): value right, gradient has 0 numbers of 16
#   (w / w.abs().amax()).square().sum(): value right, gradient has 0 numbers of 16
#   w.max(): value right, gradient right
#   w.min(): value right, gradient right
#   (w / w.abs().max()).square().sum(): value right, gradient right
#   w.amax(0).sum(): value right, gradient right
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/extremes.py" <<'PYTHON'
import socket
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.multiprocessing import start_processes

RANKS = 2
FUNCTIONS = {
    "w.amax()": lambda w: w.amax(),
    "w.amin()": lambda w: w.amin(),
    "w.norm(inf)": lambda w: w.norm(float("inf")),
    "(w / w.abs().amax()).square().sum()": lambda w: (w / w.abs().amax()).square().sum(),
    "w.max()": lambda w: w.max(),
    "w.min()": lambda w: w.min(),
    "(w / w.abs().max()).square().sum()": lambda w: (w / w.abs().max()).square().sum(),
    "w.amax(0).sum()": lambda w: w.amax(0).sum(),
}


def compared(function, weight, mesh):
    """Whether the value and the gradient of sharded weights are those of whole ones."""
    whole = weight.clone().requires_grad_()
    sharded = distribute_tensor(weight, mesh, [Shard(0)]).requires_grad_()
    right, found = function(whole), function(sharded)
    right.backward()
    found.backward()
    value = torch.allclose(found.full_tensor(), right)
    gradient = sharded.grad.full_tensor()
    numbers = gradient.isfinite().sum().item()
    gradient = "right" if torch.allclose(gradient, whole.grad) else f"has {numbers} numbers of 16"
    return f"value {'right' if value else 'wrong'}, gradient {gradient}"


def run(rank, port, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    lines = []
    for place, row in enumerate((0, 3)):
        weight = torch.linspace(-1, 1, 16).reshape(4, 4)
        weight[row, 0], weight[row, 1] = -3, 2
        lines.append(f"rank {place} holds the largest and the smallest weight:")
        lines += [f"{name}: {compared(function, weight, mesh)}" for name, function in FUNCTIONS.items()]
    if rank == 0:
        with open(file, "w") as out:
            out.write("\n".join(lines))
    dist.barrier()
    dist.destroy_process_group()


SEEN = """\
rank 0 holds the largest and the smallest weight:
w.amax(): value right, gradient right
w.amin(): value right, gradient right
w.norm(inf): value right, gradient right
(w / w.abs().amax()).square().sum(): value right, gradient right
w.max(): value right, gradient right
w.min(): value right, gradient right
(w / w.abs().max()).square().sum(): value right, gradient right
w.amax(0).sum(): value right, gradient right
rank 1 holds the largest and the smallest weight:
w.amax(): value right, gradient has 0 numbers of 16
w.amin(): value right, gradient has 0 numbers of 16
w.norm(inf): value right, gradient has 0 numbers of 16
(w / w.abs().amax()).square().sum(): value right, gradient has 0 numbers of 16
w.max(): value right, gradient right
w.min(): value right, gradient right
(w / w.abs().max()).square().sum(): value right, gradient right
w.amax(0).sum(): value right, gradient right"""

if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(run, (port, sys.argv[1]), RANKS, start_method="fork")
    with open(sys.argv[1]) as lines:
        found = lines.read()
    print(found)
    sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/extremes.py" "$folder/found" 2>/dev/null
