#!/usr/bin/env bash
# torch 2.13.0: all_reduce with MAX or MIN over gloo keeps a NaN of rank 0 and loses one of any other rank.
#
# Guessed: NaN wins, as in torch.maximum and torch.max, or at least the same happens wherever it is.
# Seen (2026-11-27, torch 2.13.0, gloo, 3 CPU processes, float32 and bfloat16): for the values NaN, 1, 2 by rank the maximum
# is NaN. With the NaN on rank 1 it is 1, though rank 2 has 2; with it on rank 2 it is 2. So a NaN elsewhere not only
# vanishes: it can take the real maximum along. SUM gives NaN in each case. A check that compares the maximum over all ranks
# of a deviation or a gradient with a limit therefore passes a run whose second rank has NaN: also reduce a count of
# non-finite values.
#
#   MAX with NaN on rank 0, 1, 2: nan, 1, 2
#   MIN with NaN on rank 0, 1, 2: nan, 1, 1
#   SUM with NaN on rank 0, 1, 2: nan, nan, nan
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

NAN = float("nan")
VALUES = ((NAN, 1.0, 2.0), (1.0, NAN, 2.0), (1.0, 2.0, NAN))  # by rank
SEEN = {"MAX": ["nan", "1", "2"], "MIN": ["nan", "1", "1"], "SUM": ["nan", "nan", "nan"]}


def on_rank(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=3)
    changed = False
    for name, seen in SEEN.items():
        for dtype in (torch.float32, torch.bfloat16):
            found = []
            for values in VALUES:
                value = torch.tensor([values[rank]], dtype=dtype)
                dist.all_reduce(value, getattr(dist.ReduceOp, name))
                found.append(f"{value.item():g}")
            changed |= found != seen
        if rank == 0:
            print(f"{name} with NaN on rank 0, 1, 2: {', '.join(found)}", flush=True)
    dist.destroy_process_group()
    sys.exit(changed)


if __name__ == "__main__":
    torch.multiprocessing.spawn(on_rank, (sys.argv[1],), nprocs=3)
PYTHON
"$folder/venv/bin/python" "$folder/reduced.py" "$folder/store" 2>/dev/null
