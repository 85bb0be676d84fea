#!/usr/bin/env bash
# webdataset 1.0.2: shardshuffle=100 puts the shards into the same order in every epoch, and so does shuffle(seed=...) the samples;
# with resampled=True a seed has no effect, and each process draws other shards.
#
# Guessed: shards are shuffled anew in each epoch, and with seed=42 the order of every epoch is the same in each process; with
# resampled=True the seed decides which shards are drawn.
# Seen (2026-12-01, webdataset 1.0.2; 12 shards of two samples written here, read by one process without workers): shardshuffle
# seeds a new generator with the same seed at the begin of each pass, one that was drawn when the dataset was made if none was
# given: three passes have one order of the shards. shuffle(8, seed=1) gives the samples in one order in each pass, and shuffle(8)
# in one that cannot be had again. With resampled=True, the seed is not passed on: the draw depends on the process and the time.
# So a policy or a model trained over several epochs gets its batches in the same order again, and a run with resampling cannot be
# repeated. Set detshuffle=True, which shuffles by seed and epoch, and use wds.ResampledShards(urls, seed=..., deterministic=True)
# for resampling.
#
#   shardshuffle=100: 1 in 3 passes
#   shardshuffle=100, seed=42: 1 in 3 passes
#   shardshuffle=100, detshuffle=True, seed=42: 3 in 3 passes
#   shuffle(8, seed=1): 1 in 3 passes
#   shuffle(8): 3 in 3 passes
#   two datasets of seed=42, one order: True
#   resampled=True, seed=42, two processes, one draw: False
#   ResampledShards(seed=42, deterministic=True), two processes, one draw: True
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check webdataset==1.0.2
cat >"$folder/passes.py" <<'PYTHON'
import subprocess
import sys
import warnings
from pathlib import Path

import webdataset as wds

warnings.simplefilter("ignore")
SHARDS = 12
SEEN = """\
shardshuffle=100: 1 in 3 passes
shardshuffle=100, seed=42: 1 in 3 passes
shardshuffle=100, detshuffle=True, seed=42: 3 in 3 passes
shuffle(8, seed=1): 1 in 3 passes
shuffle(8): 3 in 3 passes
two datasets of seed=42, one order: True
resampled=True, seed=42, two processes, one draw: False
ResampledShards(seed=42, deterministic=True), two processes, one draw: True"""


def shards(dataset):
    """The order of the shards in a pass."""
    return [sample["__key__"].split("-")[0] for sample in dataset][::2]


def keys(dataset):
    return [sample["__key__"] for sample in dataset]


def drawn(urls):
    """The first shards that resampling draws with a seed: by WebDataset, and by a pipeline of one's own."""
    pipeline = wds.DataPipeline(wds.ResampledShards(urls, seed=42, deterministic=True), wds.tarfile_to_samples())
    datasets = wds.WebDataset(urls, resampled=True, seed=42), pipeline
    return [" ".join(keys(dataset.with_epoch(40))) for dataset in datasets]


if len(sys.argv) > 2:  # a second process
    print(*drawn(sys.argv[2:]), sep="\n")
    sys.exit()

folder = Path(sys.argv[1])
urls = [str(folder / f"{number:02}.tar") for number in range(SHARDS)]
for url in urls:
    with wds.TarWriter(url) as file:
        for number in range(2):
            file.write({"__key__": f"{Path(url).stem}-{number}", "txt": "x"})


def orders(dataset, read):
    """Of three passes, how many orders they have, and whether each has all that there is once."""
    passes = [read(dataset) for _ in range(3)]
    whole = all(len(set(found)) == len(found) == len(passes[0]) for found in passes)
    return f"{len({tuple(found) for found in passes})} in 3 passes{'' if whole else ', not whole'}"


lines = [
    f"shardshuffle=100: {orders(wds.WebDataset(urls, shardshuffle=100), shards)}",
    f"shardshuffle=100, seed=42: {orders(wds.WebDataset(urls, shardshuffle=100, seed=42), shards)}",
    f"shardshuffle=100, detshuffle=True, seed=42: "
    f"{orders(wds.WebDataset(urls, shardshuffle=100, detshuffle=True, seed=42), shards)}",
    f"shuffle(8, seed=1): {orders(wds.WebDataset(urls, shardshuffle=False).shuffle(8, seed=1), keys)}",
    f"shuffle(8): {orders(wds.WebDataset(urls, shardshuffle=False).shuffle(8), keys)}",
]
same = wds.WebDataset(urls, shardshuffle=100, seed=42), wds.WebDataset(urls, shardshuffle=100, seed=42)
lines.append(f"two datasets of seed=42, one order: {shards(same[0]) == shards(same[1])}")
other = subprocess.run([sys.executable, __file__, "", *urls], capture_output=True, text=True, check=True).stdout.splitlines()
names = "resampled=True, seed=42", "ResampledShards(seed=42, deterministic=True)"
for name, here, there in zip(names, drawn(urls), other, strict=True):
    lines.append(f"{name}, two processes, one draw: {here == there}")
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/passes.py" "$folder"
