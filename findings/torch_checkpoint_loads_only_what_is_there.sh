#!/usr/bin/env bash
# torch 2.13.0: torch.distributed.checkpoint.load of a model and its optimizer does not load Adam's moments in a new process,
# and says nothing.
#
# Guessed: load({"model": model, "optimizer": optimizer}) restores what save() of the same wrote, since both have state_dict
# and load_state_dict; what cannot be restored raises, as a missing key does.
# Seen (2026-11-29, torch 2.13.0, CPU, one process): load asks each object for its own state first, and reads the entries that
# are there. A new Adam has none: weights and learning rate are those of the checkpoint, the moments and the step counter are
# not, and the file's entries that nobody asked for are passed over. The run goes on with a first step of the full learning
# rate in each weight. An optimizer that has stepped once gets everything. So do get_state_dict and set_state_dict, which
# create the moments first (see torch_reading_adams_state_is_a_step.sh). It holds for any object whose state grows: a counter
# by data source comes back empty. Only the other way round, where the file lacks an entry, is it an error.
#
#   new optimizer: weights yes, steps none
#   new optimizer, as a state_dict(): weights yes, steps none
#   optimizer after a step: weights yes, steps 3
#   get_state_dict, set_state_dict: weights yes, steps 3
#   counter: saved {'gsm8k': 7}, loaded {}
#   counter that knows another source: CheckpointException
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy
cat >"$folder/load.py" <<'PYTHON'
import sys

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

FOLDER = sys.argv[1]


class Counter:
    def __init__(self, **rows):
        self.rows = rows

    def state_dict(self):
        return dict(self.rows)

    def load_state_dict(self, state):
        self.rows = dict(state)


def new(steps=0):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.ones(1, 4)).square().sum().backward()
        optimizer.step()
    return model, optimizer


def by_objects(model, optimizer):
    dcp.load({"model": model, "optimizer": optimizer}, checkpoint_id=f"{FOLDER}/objects")


def by_state_dict(model, optimizer):
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    dcp.load(states, checkpoint_id=f"{FOLDER}/objects")
    model.load_state_dict(states["model"])
    optimizer.load_state_dict(states["optimizer"])


def by_functions(model, optimizer):
    states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
    dcp.load(states, checkpoint_id=f"{FOLDER}/functions")
    set_state_dict(model, optimizer, model_state_dict=states["model"], optim_state_dict=states["optimizer"])


model, optimizer = new(steps=3)
dcp.save({"model": model, "optimizer": optimizer}, checkpoint_id=f"{FOLDER}/objects")
states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
dcp.save(states, checkpoint_id=f"{FOLDER}/functions")
dcp.save({"counter": Counter(gsm8k=7)}, checkpoint_id=f"{FOLDER}/counter")

found = []
for what, load, steps in (
    ("new optimizer", by_objects, 0),
    ("new optimizer, as a state_dict()", by_state_dict, 0),
    ("optimizer after a step", by_objects, 1),
    ("get_state_dict, set_state_dict", by_functions, 0),
):
    other, its_optimizer = new(steps)
    load(other, its_optimizer)
    weights = "yes" if torch.equal(model.weight, other.weight) else "no"
    counts = sorted({int(state["step"]) for state in its_optimizer.state.values()}) or ["none"]
    found.append(f"{what}: weights {weights}, steps {', '.join(map(str, counts))}")
counter = Counter()
dcp.load({"counter": counter}, checkpoint_id=f"{FOLDER}/counter")
found.append(f"counter: saved {{'gsm8k': 7}}, loaded {counter.rows}")
try:
    dcp.load({"counter": Counter(math=0)}, checkpoint_id=f"{FOLDER}/counter")
    found.append("counter that knows another source: loaded")
except dcp.api.CheckpointException as error:
    found.append(f"counter that knows another source: {type(error).__name__}")
print("\n".join(found))
sys.exit(
    found
    != [
        "new optimizer: weights yes, steps none",
        "new optimizer, as a state_dict(): weights yes, steps none",
        "optimizer after a step: weights yes, steps 3",
        "get_state_dict, set_state_dict: weights yes, steps 3",
        "counter: saved {'gsm8k': 7}, loaded {}",
        "counter that knows another source: CheckpointException",
    ]
)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/load.py" "$folder"
