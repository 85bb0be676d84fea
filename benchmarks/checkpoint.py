"""What checking a checkpoint costs: for one rank's shard, as ratios to the time of its save.

    python benchmarks/checkpoint.py --gibibytes 1 --rounds 3 --folder outputs

Saves a state dict as verl's workers do, flushes it to disk, and reads it as a save, a load and a start check it. At
the end it times the SHA-256 of a file of that size, as a data file would need. Rounds are interleaved; prints medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.table import format_table
from pacs.base.arguments import positive
from pacs.base.files import file_sha256
from pacs.checkpoints.integrity import digest_of
from pacs.integration.checkpoints.shard_checks import check_files

SHARD = "model_world_size_1_rank_0.pt"
TENSORS = 32


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(folder: Path, state: dict[str, torch.Tensor]) -> dict[str, float]:
    """One round: what is done -> seconds."""
    file = folder / SHARD

    def save() -> None:
        torch.save(state, file)
        with file.open("rb") as stream:
            os.fsync(stream.fileno())

    return {
        "save, until it is on the disk": seconds(save),
        "a rank's check after it, from the disk": seconds(lambda: check_files(folder, [SHARD], written=True)),
        "a rank's check before a load, read lately": seconds(lambda: check_files(folder, [SHARD], written=False)),
        "the start's look at its list of records": seconds(lambda: digest_of(file)),
        "load": seconds(lambda: torch.load(file)),
        "SHA-256 of the same bytes": seconds(lambda: file_sha256(file)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gibibytes", type=float, default=1.0, help="size of the shard")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--folder", type=Path, default=Path("outputs"), help="a folder on the disk to measure")
    args = parser.parse_args()
    if not 0 < args.gibibytes < float("inf"):
        parser.error(f"--gibibytes {args.gibibytes:g}: give a number above 0")
    if args.folder.exists() and not args.folder.is_dir():
        parser.error(f"--folder {args.folder} is a file: give a folder")
    count = int(args.gibibytes * 2**30 / 4 / TENSORS)
    state = {f"layer_{i}": torch.randn(count) for i in range(TENSORS)}
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        rounds = [measure(Path(folder), state) for _ in range(args.rounds)]
    found = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    ratios = {name: statistics.median(one[name] / next(iter(one.values())) for one in rounds) for name in rounds[0]}
    rows = [
        (name, f"{value:.3f}", f"{args.gibibytes / value:.2f}", f"{ratios[name]:.3f}") for name, value in found.items()
    ]
    print(format_table((f"{args.gibibytes:g} GiB, medians of {args.rounds}", "seconds", "GiB/s", "of the save"), rows))


if __name__ == "__main__":
    main()
