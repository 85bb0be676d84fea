"""Divide a prepared training set: most problems to train an actor on, the others for a critic's first traces.

python -m recipes.genac_qwen3_8b.held_out data/deepscaler/train.parquet --problems 1000 --out data/genac
"""

import argparse
import random
from pathlib import Path

import pyarrow.parquet as pq

from pacs.base.arguments import positive, whole_seed
from pacs.base.errors import UserError
from pacs.base.terminal import print

TRAIN, HELD = "train.parquet", "held.parquet"


def divide(file: Path, problems: int, out: Path, seed: int) -> None:
    """Write out/held.parquet with so many rows, drawn, and out/train.parquet with the others, in their order.

    Raises:
        UserError: there is no such set, or it has too few rows.
    """
    if not file.is_file():
        raise UserError(f"{file}: no such file: prepare it first (`pacs data prepare deepscaler --out DIR`)")
    table = pq.read_table(file)
    if problems >= table.num_rows:
        raise UserError(f"--problems {problems}: {file} has {table.num_rows:,}, and some are to be trained on")
    if file.resolve() in [(out / name).resolve() for name in (HELD, TRAIN)]:
        raise UserError(f"--out {out}: {file} would be written over: give another folder")
    drawn = {*random.Random(seed).sample(range(table.num_rows), problems)}
    out.mkdir(parents=True, exist_ok=True)
    for name, held in ((HELD, True), (TRAIN, False)):
        rows = [row for row in range(table.num_rows) if (row in drawn) == held]
        aside = out / f".{name}.tmp"
        pq.write_table(table.take(rows), aside)
        aside.replace(out / name)
        print(f"{out / name}: {len(rows):,} problems")


def main() -> None:
    """Read the arguments, and divide."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.genac_qwen3_8b.held_out",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a prepared training set")
    parser.add_argument("--problems", type=positive, required=True, metavar="N", help="how many are held out")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the two files")
    parser.add_argument("--seed", type=whole_seed, default=0, metavar="N", help="of the draw (default: 0)")
    args = parser.parse_args()
    try:
        divide(args.file, args.problems, args.out, args.seed)
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
