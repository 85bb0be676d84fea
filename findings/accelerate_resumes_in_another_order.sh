#!/usr/bin/env bash
# accelerate 1.15.0: load_state and skip_first_batches in the middle of an epoch go on in another order: rows that were seen
# come again, others never do. With use_seedable_sampler it is the order of the first epoch.
#
# Guessed: load_state restores the generators, and skip_first_batches passes over the batches that were seen, so that the
# rest of the epoch follows, each row once; and use_seedable_sampler makes sure of it.
# Seen (2026-11-30, accelerate 1.15.0, torch 2.13.0, one CPU process; 12 rows, shuffled, batches of 2; save_state behind the
# third batch of the second epoch, load_state and skip_first_batches(loader, 3) in a new process): save_state keeps the
# generators as they are in the middle of the epoch, when its order has long been drawn, and the new process draws another
# one from there. A seedable sampler draws its order from its seed and the number of the epoch, and that number starts at 0
# in a new process and is not saved: the rest of the second epoch has the first one's order, and the third epoch has all of
# it once more. Only with set_epoch on each loader, the skipping one too, is it the order of before. Nothing warns, and the
# loss goes on well.
#
#   of 6 rows each: those that come again after the break, and that never come; the third epoch as if unbroken:
#   default: 4 and 4; False
#   use_seedable_sampler: 3 and 3; False
#   use_seedable_sampler, set_epoch: 0 and 0; True
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check accelerate==1.15.0 torch==2.13.0 numpy
cat >"$folder/epochs.py" <<'PYTHON'
import json
import subprocess
import sys
from pathlib import Path

SEEN_BATCHES, BATCH = 3, 2


def run(phase, seedable, set_epoch, folder):
    """The rows of each epoch: three from the start, or the rest of the second and the third after the break."""
    import torch
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed

    set_seed(0)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=seedable))
    loader = accelerator.prepare(torch.utils.data.DataLoader(list(range(12)), batch_size=BATCH, shuffle=True))
    if phase == "resumed":
        accelerator.load_state(folder)
    epochs = []
    for epoch in range(phase == "resumed", 3):
        active = loader
        if phase == "resumed" and epoch == 1:
            active = accelerator.skip_first_batches(loader, SEEN_BATCHES)
        if set_epoch:
            loader.set_epoch(epoch)
            active.set_epoch(epoch)
        rows = []
        for i, batch in enumerate(active, start=1):
            rows += batch.tolist()
            if phase == "unbroken" and epoch == 1 and i == SEEN_BATCHES:
                accelerator.save_state(folder)
        epochs.append(rows)
    return epochs


def in_a_process(*arguments):
    return json.loads(subprocess.check_output([sys.executable, __file__, json.dumps(arguments)]))


if __name__ == "__main__" and sys.argv[1].startswith("["):
    print(json.dumps(run(*json.loads(sys.argv[1]))))
    sys.exit()

CASES = {
    "default": (False, False),
    "use_seedable_sampler": (True, False),
    "use_seedable_sampler, set_epoch": (True, True),
}
found = []
for name, case in CASES.items():
    folder = str(Path(sys.argv[1]) / name)
    unbroken = in_a_process("unbroken", *case, folder)
    rest, third = in_a_process("resumed", *case, folder)
    seen = set(unbroken[1][: SEEN_BATCHES * BATCH])
    again, never = seen & set(rest), set(unbroken[1]) - seen - set(rest)
    found.append(f"{name}: {len(again)} and {len(never)}; {third == unbroken[2]}")
found = "\n".join(found)

SEEN = """\
default: 4 and 4; False
use_seedable_sampler: 3 and 3; False
use_seedable_sampler, set_epoch: 0 and 0; True"""
print("of 6 rows each: those that come again after the break, and that never come; the third epoch as if unbroken:")
print(found)
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/epochs.py" "$folder" 2>/dev/null
