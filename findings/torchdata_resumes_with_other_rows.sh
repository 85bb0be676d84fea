#!/usr/bin/env bash
# torchdata 0.11.0: a StatefulDataLoader with one of torch's samplers goes on with other rows if it is resumed in its second
# pass, even if the sampler's generator is seeded; one that is resumed behind the last batch of a pass gives an empty pass.
#
# Guessed: the loader's state holds what its sampler drew, or is refused; behind the last batch the next pass begins.
# Seen (2026-11-30, torchdata 0.11.0, torch 2.13.0; twelve rows, batches of two, the state taken after three batches): with
# shuffle=True the second pass goes on as it would have. A RandomSampler or WeightedRandomSampler of torch is begun anew and
# skipped forward, with its generator as it was in the first pass. So some rows of the pass come a second time, and as many
# never; nothing is said. A sampler that weights prompts by their difficulty is of that kind. In the first pass all is right,
# which is what a short test sees. With the state of the last batch, the next pass is empty, unless the loop has also asked
# for the batch that is not there; so a trainer that saves in the loop and counts passes loses a whole one. verl's trainer for
# RL knows of both, its sft_trainer.py not of the second (read, not run). Pass torchdata's RandomSampler or a sampler with a
# state_dict, and count steps.
#
#   each row once in a pass that was resumed, pass 1 and pass 2:
#   shuffle=True: True, True
#   torchdata's RandomSampler: True, True
#   RandomSampler: True, False
#   WeightedRandomSampler, equal weights, no replacement: True, False
#   batches in the pass after the last batch's state: 0, with the state after the loop: 6
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchdata==0.11.0 numpy
cat >"$folder/passes.py" <<'PYTHON'
import sys

import torch
from torch.utils.data import RandomSampler, WeightedRandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader import sampler as torchdata_sampler

ROWS = list(range(12))
STOP = 3


def seeded():
    return torch.Generator().manual_seed(0)


LOADERS = {
    "shuffle=True": lambda: {"shuffle": True, "generator": seeded()},
    "torchdata's RandomSampler": lambda: {"sampler": torchdata_sampler.RandomSampler(ROWS, generator=seeded())},
    "RandomSampler": lambda: {"sampler": RandomSampler(ROWS, generator=seeded())},
    "WeightedRandomSampler, equal weights, no replacement": lambda: {
        "sampler": WeightedRandomSampler([1.0] * 12, 12, replacement=False, generator=seeded())
    },
}


def loader(name):
    return StatefulDataLoader(ROWS, batch_size=2, **LOADERS[name]())


def batches(of):
    return [batch.tolist() for batch in of]


def resumed(name, passes_before):
    """Whether a pass has each row once, if another loader goes on after three batches."""
    first = loader(name)
    for _ in range(passes_before):
        assert sorted(sum(batches(first), [])) == ROWS
    running = iter(first)
    seen = sum((next(running).tolist() for _ in range(STOP)), [])
    second = loader(name)
    second.load_state_dict(first.state_dict())
    rows = seen + sum(batches(second), [])
    assert len(rows) == len(ROWS)
    return sorted(rows) == ROWS


def after_the_last(ask_for_more):
    first = loader("shuffle=True")
    running = iter(first)
    given = [next(running) for _ in range(6)]
    assert len(given) == 6 and (not ask_for_more or next(running, None) is None)
    second = loader("shuffle=True")
    second.load_state_dict(first.state_dict())
    return len(batches(second))


lines = [f"{name}: {resumed(name, 0)}, {resumed(name, 1)}" for name in LOADERS]
ends = f"{after_the_last(False)}, with the state after the loop: {after_the_last(True)}"
lines.append(f"batches in the pass after the last batch's state: {ends}")
SEEN = """\
shuffle=True: True, True
torchdata's RandomSampler: True, True
RandomSampler: True, False
WeightedRandomSampler, equal weights, no replacement: True, False
batches in the pass after the last batch's state: 0, with the state after the loop: 6"""
found = "\n".join(lines)
print("each row once in a pass that was resumed, pass 1 and pass 2:")
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/passes.py" 2>/dev/null
