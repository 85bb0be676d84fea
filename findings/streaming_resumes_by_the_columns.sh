#!/usr/bin/env bash
# mosaicml-streaming 0.13.0: StreamingDataLoader resumes by the length of whatever comes first in a batch: with rows as dicts it
# goes back to rows that it has given, and with rows joined to one (without padding) it leaves out most that come next.
#
# Guessed: a loader that was resumed with load_state_dict goes on with the next row, whatever its collate_fn makes of the rows.
# Seen (2026-11-30, mosaicml-streaming 0.13.0, torch 2.13.0; 40 rows without shuffling, two batches of 4, then the state loaded
# into a new loader): the loader knows the rows that it has given only from its batches: of a dict it takes the length of the
# first value, of anything else that of the first element. That is right for columns of the default collate_fn. A batch of
# rows as dicts (collate_fn=list), the way to keep prompts for a rollout, counts as many rows as there are columns, a batch of
# texts as many as the first text has letters, rows packed into one of the shape (1, tokens) count as one, and rows joined
# without padding as many as they have tokens. So a run sees rows twice after each resume, or, joined, never sees a large part
# of them, and nothing is said; the state's sample_in_epoch is other than the rows given. Put a column with one value a row
# first in the batch.
#
#   after rows 0 to 7, by what a batch is: samples in the state, next rows
#   columns: 8, [8, 9, 10, 11]
#   rows as dicts of 3 columns: 6, [6, 7, 8, 9]
#   texts, the first of 2 letters: 4, [4, 5, 6, 7]
#   packed into one row: 2, [2, 3, 4, 5]
#   joined, 3 tokens each: 24, [24, 25, 26, 27]
#   joined, with the rows' ids first: 8, [8, 9, 10, 11]
#
# Exits with a status other than 0 if any of this differs. What it imports for datasets of images and texts, and for types of
# batches (transformers), are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.1.3 brotli==1.2.1 zstd==1.5.7.2 \
  python-snappy==0.7.3 xxhash==4.1.0 catalogue==2.0.10 tqdm==4.67.1 requests==2.32.5 \
  pillow==12.0.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps mosaicml-streaming==0.13.0
cat >"$folder/resume.py" <<'PYTHON'
import sys
from types import ModuleType

import torch


def stand_in(name, **names):
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(names)


for part in ("multimodal", "text", "vision"):
    stand_in(f"streaming.{part}")
stand_in("transformers")
stand_in("transformers.feature_extraction_utils", BatchFeature=type("BatchFeature", (), {}))
stand_in("transformers.tokenization_utils_base", BatchEncoding=type("BatchEncoding", (), {}))

from streaming import MDSWriter, StreamingDataLoader, StreamingDataset  # noqa: E402
from streaming.base.util import clean_stale_shared_memory  # noqa: E402


def tokens(rows):
    return torch.tensor([row["id"] for row in rows for _ in range(3)])


def ids(rows):
    return [row["id"] for row in rows]


# What a batch is, the collate_fn that makes it, and the rows' ids in it.
BATCHES = {
    "columns": (None, lambda batch: batch["id"].tolist()),
    "rows as dicts of 3 columns": (list, ids),
    "texts, the first of 2 letters": (
        lambda rows: [row["prompt"] for row in rows],
        lambda batch: [int(text[1:]) for text in batch],
    ),
    "packed into one row": (
        lambda rows: {"input_ids": tokens(rows)[None]},
        lambda batch: batch["input_ids"][0, ::3].tolist(),
    ),
    "joined, 3 tokens each": (lambda rows: {"input_ids": tokens(rows)}, lambda batch: batch["input_ids"][::3].tolist()),
    "joined, with the rows' ids first": (
        lambda rows: {"rows": ids(rows), "input_ids": tokens(rows)},
        lambda batch: batch["rows"],
    ),
}
SEEN = {
    "columns": (8, [8, 9, 10, 11]),
    "rows as dicts of 3 columns": (6, [6, 7, 8, 9]),
    "texts, the first of 2 letters": (4, [4, 5, 6, 7]),
    "packed into one row": (2, [2, 3, 4, 5]),
    "joined, 3 tokens each": (24, [24, 25, 26, 27]),
    "joined, with the rows' ids first": (8, [8, 9, 10, 11]),
}


def loader(collate):
    clean_stale_shared_memory()
    rows = StreamingDataset(local=f"{sys.argv[1]}/rows", shuffle=False, batch_size=4, num_canonical_nodes=1)
    return StreamingDataLoader(rows, batch_size=4, collate_fn=collate)


def resumed(collate, read):
    first = loader(collate)
    batches = iter(first)
    assert [read(next(batches)), read(next(batches))] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    state = first.state_dict()
    del batches, first
    second = loader(collate)
    second.load_state_dict(state)
    return state["sample_in_epoch"], read(next(iter(second)))


if __name__ == "__main__":
    with MDSWriter(out=f"{sys.argv[1]}/rows", columns={"id": "int", "prompt": "str", "answer": "str"}) as writer:
        for number in range(40):
            writer.write({"id": number, "prompt": f"q{number}", "answer": str(number)})
    found = {name: resumed(*how) for name, how in BATCHES.items()}
    print("after rows 0 to 7, by what a batch is: samples in the state, next rows")
    for name, (samples, rows) in found.items():
        print(f"{name}: {samples}, {rows}")
    sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/resume.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
