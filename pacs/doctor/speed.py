"""About ten seconds of work on every GPU, or on two ranks of the CPU: a matrix product, and a sum over the ranks.

`python -m pacs.doctor.speed FOLDER RANKS DEVICE` writes rank_N.json to the folder. Not run on GPUs yet.
"""

import json
import sys
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn

#: Seconds of each test.
SECONDS = 4.0
#: A GPU has bf16 matrices and sums as large as a layer's; a CPU small ones.
SIZES = {"cuda": (8192, 256 * 2**20, torch.bfloat16), "cpu": (512, 4 * 2**20, torch.float32)}
BACKENDS = {"cuda": "nccl", "cpu": "gloo"}


def work(rank: int, ranks: int, device: str, folder: str) -> None:
    """One rank: multiply, then sum with the others, and check the sum."""
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(rank)
    store = f"file://{folder}/store"
    dist.init_process_group(
        BACKENDS[device], init_method=store, rank=rank, world_size=ranks, timeout=timedelta(seconds=60)
    )
    size, sum_bytes, dtype = SIZES[device]
    a = torch.ones(size, size, device=device, dtype=dtype)
    multiply = _seconds(lambda: a @ a, device)
    # Whole numbers, which every dtype here holds exactly.
    numbers = torch.full((sum_bytes // dtype.itemsize,), float(rank + 1), device=device, dtype=dtype)
    dist.all_reduce(numbers)
    right = bool((numbers == ranks * (ranks + 1) / 2).all())
    numbers.zero_()
    reduce = _seconds(lambda: dist.all_reduce(numbers), device, together=True)
    # The traffic of a ring, whatever the number of ranks (nccl-tests, doc/PERFORMANCE.md).
    bus = sum_bytes / reduce * 2 * (ranks - 1) / ranks
    result = {"flops": 2 * size**3 / multiply, "bus_bytes_per_second": bus, "right": right}
    (Path(folder) / f"rank_{rank}.json").write_text(json.dumps(result))
    dist.destroy_process_group()


def _seconds(call: Any, device: str, *, together: bool = False) -> float:
    """Of one call, after one of warm-up; with `together` every rank makes as many calls."""
    call()
    _synchronize(device)
    calls, start = 0, perf_counter()
    while True:
        call()
        _synchronize(device)
        calls += 1
        over = torch.tensor(float(perf_counter() - start > SECONDS), device=device)
        if together:
            dist.all_reduce(over, dist.ReduceOp.MAX)
        if over.item():
            return (perf_counter() - start) / calls


def _synchronize(device: str) -> None:
    """Wait for what the GPU has been given."""
    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    spawn(work, args=(int(sys.argv[2]), sys.argv[3], sys.argv[1]), nprocs=int(sys.argv[2]))
