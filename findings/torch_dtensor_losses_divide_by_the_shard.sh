#!/usr/bin/env bash
# torch 2.13.0: F.mse_loss of DTensors that are sharded over two ranks has the right value and twice the gradient.
#
# Guessed: a loss of sharded DTensors, as FSDP2's weights are, has the value and the gradient of the whole tensors, if it does
# not raise.
# Seen (2026-11-30, torch 2.13.0, gloo, 2 CPU processes, 4 rows of 2, sharded by row): the value is right, the gradient of
# mse_loss, huber_loss, smooth_l1_loss, soft_margin_loss and binary_cross_entropy is twice the right one: each rank divides by
# the numbers of its own shard, and not by all. (a - b).square().mean() is right, and so are l1_loss, kl_div and mse_loss with
# reduction="sum". If the ranks do not divide the rows, the value of the five losses is wrong, too, and so is that of
# binary_cross_entropy_with_logits: the mean of the ranks' means, where mean() is right. So a penalty
# mse_loss(weight, initial_weight) on sharded weights pulls twice as hard on two ranks, and what is logged does not show it.
# Write the mean out.
#
#   gradient over that of whole tensors, 4 rows; value over that of whole tensors, 4 and 5 rows:
#   mse_loss: 2.00; 1.00 and 0.92
#   huber_loss: 2.00; 1.00 and 0.93
#   smooth_l1_loss: 2.00; 1.00 and 0.93
#   binary_cross_entropy: 2.00; 1.00 and 0.98
#   soft_margin_loss: 2.00; 1.00 and 0.96
#   binary_cross_entropy_with_logits: 1.00; 1.00 and 0.98
#   kl_div: 1.00; 1.00 and 1.00
#   l1_loss: 1.00; 1.00 and 1.00
#   (a - b).square().mean(): 1.00; 1.00 and 1.00
#   mse_loss, sum: 1.00; 1.00 and 1.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/losses.py" <<'PYTHON'
import socket
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.multiprocessing import start_processes

RANKS = 2
LOSSES = {
    "mse_loss": F.mse_loss,
    "huber_loss": F.huber_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "binary_cross_entropy": lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid()),
    "soft_margin_loss": lambda a, b: F.soft_margin_loss(a, b.sign()),
    "binary_cross_entropy_with_logits": lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid()),
    "kl_div": lambda a, b: F.kl_div(a.log_softmax(-1), b.softmax(-1)),
    "l1_loss": F.l1_loss,
    "(a - b).square().mean()": lambda a, b: (a - b).square().mean(),
    "mse_loss, sum": lambda a, b: F.mse_loss(a, b, reduction="sum"),
}


def values(loss, rows, mesh):
    """The loss of sharded tensors, and of the same tensors whole; then the norms of both gradients."""
    torch.manual_seed(0)
    a, b = torch.randn(rows, 2), torch.randn(rows, 2)
    whole = a.clone().requires_grad_()
    sharded = distribute_tensor(a, mesh, [Shard(0)]).requires_grad_()
    right = loss(whole, b)
    found = loss(sharded, distribute_tensor(b, mesh, [Shard(0)]))
    value = found.full_tensor().item() / right.item()
    if rows % RANKS:
        return value, None
    right.backward()
    found.backward()
    return value, (sharded.grad.full_tensor().norm() / whole.grad.norm()).item()


def run(rank, port, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    lines = []
    for name, loss in LOSSES.items():
        value, gradient = values(loss, 4, mesh)
        uneven, _ = values(loss, 5, mesh)
        lines.append(f"{name}: {gradient:.2f}; {value:.2f} and {uneven:.2f}")
    if rank == 0:
        with open(file, "w") as out:
            out.write("\n".join(lines))
    dist.barrier()
    dist.destroy_process_group()


SEEN = """\
mse_loss: 2.00; 1.00 and 0.92
huber_loss: 2.00; 1.00 and 0.93
smooth_l1_loss: 2.00; 1.00 and 0.93
binary_cross_entropy: 2.00; 1.00 and 0.98
soft_margin_loss: 2.00; 1.00 and 0.96
binary_cross_entropy_with_logits: 1.00; 1.00 and 0.98
kl_div: 1.00; 1.00 and 1.00
l1_loss: 1.00; 1.00 and 1.00
(a - b).square().mean(): 1.00; 1.00 and 1.00
mse_loss, sum: 1.00; 1.00 and 1.00"""

if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(run, (port, sys.argv[1]), RANKS, start_method="fork")
    with open(sys.argv[1]) as lines:
        found = lines.read()
    print("gradient over that of whole tensors, 4 rows; value over that of whole tensors, 4 and 5 rows:")
    print(found)
    sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/losses.py" "$folder/found" 2>/dev/null
