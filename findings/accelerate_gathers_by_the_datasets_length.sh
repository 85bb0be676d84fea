#!/usr/bin/env bash
# accelerate 1.15.0: gather_for_metrics cuts the last batch by the length of the dataset, whatever the loader draws from it: with
# a sampler, a batch sampler or several completions a row it drops results that are nobody's padding, on one process, too.
#
# Guessed: on several processes it drops the rows that were added to fill the last batch, and on one process nothing; so each
# row that the loader yields is counted once.
# Seen (2026-11-30, accelerate 1.15.0, torch 2.13.0, 1 and 2 CPU processes; 10 rows, batches of 4): it keeps the first
# len(dataset) % (batch size * processes) entries of the last batch, if that is not 0. So 8 of 10 rows drawn by
# SubsetRandomSampler give 6 results on one process and 2 on two; a RandomSampler of 16 gives 14 and 10; a BatchSampler that
# drops the short batch itself loses as much of the last full one. Of three completions for each prompt, those of the last
# prompts are missing, which is the way to sample for pass@k. After skip_first_batches, as an evaluation goes on after a
# break, the rows that fill the last batch stay: 8 results of 2 rows. There is no warning, and the mean is over what is left.
# Take a Subset of the dataset in place of a sampler, gather one entry a row (its completions as one list), and compare the
# number of results with the number of rows.
#
#   results, 1 and 2 processes:
#   DataLoader(rows): 10 and 10 of 10
#   DataLoader(Subset(rows, 8)): 8 and 8 of 8
#   DataLoader(rows, drop_last): 8 and 8 of 8
#   SubsetRandomSampler of 8: 6 and 2 of 8
#   RandomSampler of 16: 14 and 10 of 16
#   WeightedRandomSampler of 12: 10 and 10 of 12
#   BatchSampler, drop_last: 6 and 2 of 8
#   three completions a row: 26 and 26 of 30
#   skip_first_batches, 8 of 10 rows done: 2 and 8 of 2
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check accelerate==1.15.0 torch==2.13.0 numpy
cat >"$folder/gathered.py" <<'PYTHON'
import os
import socket
import sys

from accelerate import Accelerator
from torch.multiprocessing import start_processes
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

ROWS = list(range(10))


def loaders():
    """A name, a loader and the number of rows it yields."""
    yield "DataLoader(rows)", DataLoader(ROWS, 4), 10
    yield "DataLoader(Subset(rows, 8))", DataLoader(Subset(ROWS, range(8)), 4), 8
    yield "DataLoader(rows, drop_last)", DataLoader(ROWS, 4, drop_last=True), 8
    yield "SubsetRandomSampler of 8", DataLoader(ROWS, 4, sampler=SubsetRandomSampler(range(8))), 8
    yield "RandomSampler of 16", DataLoader(ROWS, 4, sampler=RandomSampler(ROWS, num_samples=16)), 16
    yield "WeightedRandomSampler of 12", DataLoader(ROWS, 4, sampler=WeightedRandomSampler([1.0] * 10, 12)), 12
    full_batches = BatchSampler(SequentialSampler(ROWS), 4, drop_last=True)
    yield "BatchSampler, drop_last", DataLoader(ROWS, batch_sampler=full_batches), 8


def count(accelerator, loader, of_batch=lambda batch: batch):
    return sum(len(accelerator.gather_for_metrics(of_batch(batch))) for batch in loader)


def completions(batch):
    return [f"{i} of {row}" for row in batch.tolist() for i in range(3)]


def run(rank, world, port, file):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == world
    found = [(name, count(accelerator, accelerator.prepare(loader)), rows) for name, loader, rows in loaders()]
    loader = accelerator.prepare(DataLoader(ROWS, 4))
    found.append(("three completions a row", count(accelerator, loader, completions), 30))
    rest = accelerator.skip_first_batches(loader, 2 // world)
    found.append(("skip_first_batches, 8 of 10 rows done", count(accelerator, rest), 2))
    if rank == 0:
        with open(f"{file}{world}", "w") as out:
            out.writelines(f"{name}: {results} of {rows}\n" for name, results, rows in found)
    accelerator.end_training()


SEEN = """\
DataLoader(rows): 10 and 10 of 10
DataLoader(Subset(rows, 8)): 8 and 8 of 8
DataLoader(rows, drop_last): 8 and 8 of 8
SubsetRandomSampler of 8: 6 and 2 of 8
RandomSampler of 16: 14 and 10 of 16
WeightedRandomSampler of 12: 10 and 10 of 12
BatchSampler, drop_last: 6 and 2 of 8
three completions a row: 26 and 26 of 30
skip_first_batches, 8 of 10 rows done: 2 and 8 of 2"""

if __name__ == "__main__":
    columns = []
    for world in (1, 2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        start_processes(run, (world, port, sys.argv[1]), world, start_method="fork")
        with open(f"{sys.argv[1]}{world}") as lines:
            columns.append(lines.read().splitlines())
    found = "\n".join(
        f"{one.rsplit(' of ', 1)[0]} and {two.rsplit(': ', 1)[1]}" for one, two in zip(*columns, strict=True)
    )
    print("results, 1 and 2 processes:")
    print(found)
    sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/gathered.py" "$folder/found" 2>/dev/null
