#!/usr/bin/env bash
# prodigyopt 1.1.2, torch 2.13.0: under fully_shard (FSDP2), Prodigy finds a step size of its own on each rank, so that parts
# of one matrix learn at several rates; on bfloat16 weights it finds none, and the model does not train.
#
# Guessed: Prodigy has one step size for the whole model. Its documentation says that it finds out by itself whether PyTorch's
# FSDP is in use, and that fsdp_in_use=True is for other implementations.
# Seen (2026-11-30, prodigyopt 1.1.2, torch 2.13.0, gloo, 2 CPU processes; a regression with 212 weights, the same rows on both
# ranks): it looks for a mark that only the older FSDP sets. With FSDP2 each rank sums over its own shards alone, without
# a word: the upper half of each matrix learns at 0.11 and the lower at 0.22, where one process takes 0.18. How far they are
# apart depends on the number of ranks and on how they cut the model, and a checkpoint keeps the step size of one rank. In
# bfloat16 the first steps, of d0 = 1e-6, are too small to change a weight, so Prodigy sees no way gone and keeps its 1e-6; with
# float32 it is 180,000 times that. A run then looks like one with a learning rate that is too small, which Prodigy is there to
# rule out. Set fsdp_in_use=True (on GPUs; it needs CUDA, and was not run here), keep the trained weights in float32, and log
# param_groups[0]["d"] on each rank.
#
#   step size d after 60 steps:
#   one process: 1.8e-01, loss from 20.5 to 0.5
#   fully_shard, ranks 0 and 1: 0.11 and 0.22
#   bfloat16: 1.0e-06, loss from 20.5 to 20.5
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy prodigyopt==1.1.2
cat >"$folder/sizes.py" <<'PYTHON'
import socket
import sys

import torch
import torch.distributed as dist
from prodigyopt import Prodigy
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import start_processes

RANKS = 2
STEPS = 60


def regression(dtype=torch.float32):
    """Two layers that are to learn four sums of eight numbers, of which the last is the largest."""
    random = torch.Generator().manual_seed(1)
    x = torch.randn(64, 8, generator=random)
    y = x @ (torch.randn(8, 4, generator=random) * torch.linspace(0.1, 3, 4))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    return model.to(dtype), x.to(dtype), y.to(dtype)


def train(model, x, y):
    """Prodigy's step size after the training, and the loss before and after it."""
    optimizer = Prodigy(model.parameters(), lr=1.0)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return optimizer.param_groups[0]["d"], losses[0], losses[-1]


def run(rank, port, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    model, x, y = regression()
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    sizes = [None] * RANKS
    dist.all_gather_object(sizes, train(model, x, y)[0])
    if rank == 0:
        with open(file, "w") as out:
            out.write(" and ".join(f"{size:.2f}" for size in sizes))
    dist.barrier()
    dist.destroy_process_group()


def said(size, before, after):
    return f"{size:.1e}, loss from {before:.1f} to {after:.1f}"


SEEN = """\
one process: 1.8e-01, loss from 20.5 to 0.5
fully_shard, ranks 0 and 1: 0.11 and 0.22
bfloat16: 1.0e-06, loss from 20.5 to 20.5"""

if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(run, (port, sys.argv[1]), RANKS, start_method="fork")
    with open(sys.argv[1]) as sizes:
        sharded = sizes.read()
    torch.set_num_threads(1)
    found = f"one process: {said(*train(*regression()))}\nfully_shard, ranks 0 and 1: {sharded}\n"
    found += f"bfloat16: {said(*train(*regression(torch.bfloat16)))}"
    print(f"step size d after {STEPS} steps:")
    print(found)
    sys.exit(found != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/sizes.py" "$folder/found" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
