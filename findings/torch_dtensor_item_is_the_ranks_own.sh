#!/usr/bin/env bash
# torch 2.13.0: .item(), float() and bool() of a reduced DTensor give this rank's part of the result, not the result.
#
# Guessed: weight.norm().item() on a sharded weight, as FSDP2 leaves it, is the weight's norm, or an error.
# Seen (2026-11-27, torch 2.13.0, gloo, 2 CPU processes): norm, sum and mean give another number on each rank: that of its own
# shard. full_tensor() gives the right one. var() is right, since it gathers. So is mean() where the ranks do not divide the
# number of rows; a small test can therefore be right where the run is not. An if can take another branch on each rank: with
# one NaN in the second shard, isnan(weight).any() is False on the first. So a logged norm can be that of one rank, and a
# check for NaN that stops a run can stop some ranks and leave the others waiting.
#
#   norm of 4 rows: 14.28; rank 0 has 5.48, rank 1 has 13.19
#   mean of 4 rows: 4.50; rank 0 has 2.50, rank 1 has 6.50
#   mean of 3 rows: 3.50; rank 0 has 3.50, rank 1 has 3.50
#   var of 4 rows: 6.00; rank 0 has 6.00, rank 1 has 6.00
#   any NaN: True; rank 0 has False, rank 1 has True
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/reduced.py" <<'PYTHON'
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

SEEN = {
    "norm of 4 rows": ("14.28", "5.48", "13.19"),
    "mean of 4 rows": ("4.50", "2.50", "6.50"),
    "mean of 3 rows": ("3.50", "3.50", "3.50"),
    "var of 4 rows": ("6.00", "6.00", "6.00"),
    "any NaN": ("True", "False", "True"),
}


def text(value):
    return str(value) if isinstance(value, bool) else f"{value:.2f}"


def on_rank(rank, store, folder):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))

    def sharded(rows, last=None):
        values = torch.arange(1.0, 2 * rows + 1).view(rows, 2)
        if last is not None:
            values[-1, -1] = last
        return distribute_tensor(values, mesh, [Shard(0)])

    reduced = {
        "norm of 4 rows": sharded(4).norm(),
        "mean of 4 rows": sharded(4).mean(),
        "mean of 3 rows": sharded(3).mean(),
        "var of 4 rows": sharded(4).var(),
        "any NaN": torch.isnan(sharded(4, float("nan"))).any(),
    }
    changed = False
    for what, value in reduced.items():
        both = [None, None]
        dist.all_gather_object(both, text(value.item()))
        found = (text(value.full_tensor().item()), *both)
        changed |= found != SEEN[what]
        if rank == 0:
            print(f"{what}: {found[0]}; rank 0 has {found[1]}, rank 1 has {found[2]}", flush=True)
    dist.destroy_process_group()
    if rank == 0 and changed:
        sys.exit(1)


if __name__ == "__main__":
    torch.multiprocessing.spawn(on_rank, (sys.argv[1], None), nprocs=2)
PYTHON
"$folder/venv/bin/python" "$folder/reduced.py" "$folder/store" 2>/dev/null
