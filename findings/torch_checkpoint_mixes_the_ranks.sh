#!/usr/bin/env bash
# torch 2.13.0: torch.distributed.checkpoint.save keeps one rank's value of what differs between ranks under the same key, each
# key's from another rank: after a resume all ranks have one state, made up of several.
#
# Guessed: each rank gets back what it saved, as the sharded weights beside it, or save refuses; at the least, all get rank 0's.
# Seen (2026-11-30, torch 2.13.0, gloo, 2 CPU processes; random generators and the place in the data beside a checkpoint): a
# value that is no DTensor counts as the same everywhere, and nothing compares. Which rank writes it goes by the bytes given
# to each so far, so one resumed state has torch's generator of rank 0, and Python's and the place in the data of rank 1. From
# then on both ranks draw the same numbers, for dropout as for samples, and read the same part of the data; rank 0's part is
# not read on. Nothing is said. With the rank in each key, every rank has its own again.
#
#   saved, rank 0: part-0, position 100, seen of 0, tokens 1000, draws 0.496 and 0.844
#   saved, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.758 and 0.134
#   loaded, the same keys, rank 0: part-1, position 101, seen of 1, tokens 1001, draws 0.496 and 0.134
#   loaded, the same keys, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.496 and 0.134
#   loaded, keys with the rank, rank 0: part-0, position 100, seen of 0, tokens 1000, draws 0.496 and 0.844
#   loaded, keys with the rank, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.758 and 0.134
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/ranks.py" <<'PYTHON'
import random
import socket
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.multiprocessing import start_processes

RANKS = 2
FORMS = {
    "the same keys": lambda rank, state: state,
    "keys with the rank": lambda rank, state: {f"rank {rank}": state},
}


def state_of(rank):
    """What a trainer keeps on each rank: its random numbers and where it is in its part of the data."""
    return {
        "generator": torch.get_rng_state(),
        "python": random.getstate(),
        "loader": {"shard": f"part-{rank}", "position": 100 + rank, "seen": torch.full((64,), rank)},
        "tokens": torch.tensor(1000 + rank),
    }


def resumed(rank, folder, form):
    """This rank's state after it was saved and loaded."""
    torch.manual_seed(rank)
    random.seed(rank)
    dcp.save(FORMS[form](rank, state_of(rank)), checkpoint_id=folder)
    dist.barrier()
    torch.manual_seed(9)
    random.seed(9)
    state = state_of(9)
    nested = FORMS[form](rank, state)
    dcp.load(nested, checkpoint_id=folder)
    return next(iter(nested.values())) if "rank" in form else nested


def seen(state):
    """Of which rank each part is, and what is drawn next."""
    torch.set_rng_state(state["generator"])
    random.setstate(state["python"])
    loader = state["loader"]
    return (
        f"{loader['shard']}, position {loader['position']}, seen of {int(loader['seen'][0])}, "
        f"tokens {int(state['tokens'])}, draws {torch.rand(1).item():.3f} and {random.random():.3f}"
    )


def run(rank, port, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    torch.manual_seed(rank)
    random.seed(rank)
    texts = {"saved": seen(state_of(rank))}
    for number, form in enumerate(FORMS):
        texts[f"loaded, {form}"] = seen(resumed(rank, f"{folder}/{number}", form))
    gathered = [None] * RANKS
    dist.all_gather_object(gathered, texts)
    if rank == 0:
        lines = [f"{name}, rank {place}: {each[name]}" for name in texts for place, each in enumerate(gathered)]
        with open(f"{folder}/found", "w") as out:
            out.write("\n".join(lines))
    dist.barrier()
    dist.destroy_process_group()


SEEN = """\
saved, rank 0: part-0, position 100, seen of 0, tokens 1000, draws 0.496 and 0.844
saved, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.758 and 0.134
loaded, the same keys, rank 0: part-1, position 101, seen of 1, tokens 1001, draws 0.496 and 0.134
loaded, the same keys, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.496 and 0.134
loaded, keys with the rank, rank 0: part-0, position 100, seen of 0, tokens 1000, draws 0.496 and 0.844
loaded, keys with the rank, rank 1: part-1, position 101, seen of 1, tokens 1001, draws 0.758 and 0.134"""

if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start_processes(run, (port, sys.argv[1]), RANKS, start_method="fork")
    with open(f"{sys.argv[1]}/found") as lines:
        found = lines.read()
    print(found)
    sys.exit(found != SEEN)
PYTHON
mkdir "$folder/saved"
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/ranks.py" "$folder/saved" 2>/dev/null
