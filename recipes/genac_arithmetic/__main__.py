"""GenAC in miniature: critics that reason before they score, on chains of sums, and what the actor makes of them.

python -m recipes.genac_arithmetic            (runs what is missing, then writes the results into README.md)
python -m recipes.genac_arithmetic --report   (writes them alone: seconds)

Each stage of a seed is a record of results.jsonl. The command may be stopped at any time, and goes on with the stage
it was in.
"""

import argparse
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pacs.base.arguments import whole_seed
from pacs.base.errors import UserError
from pacs.base.locks import held
from pacs.base.terminal import print
from recipes.genac_arithmetic import kept, page, teaching
from recipes.genac_arithmetic.sizes import COMPARED, CRITICS, JOINT, LONG, UNTOLD, Sizes
from recipes.genac_arithmetic.stages import Job, run

SEEDS = (0, 1, 2, 3, 4)
#: In their order: the stages of a line are run for one seed after the other.
STAGES = (
    (CRITICS,),
    (COMPARED,),
    tuple(arm for arm in JOINT if not arm.startswith("counted")),
    (UNTOLD,),
    ("counted", "counted_0"),
)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.genac_arithmetic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    every = [stage for line in STAGES for stage in line]
    parser.add_argument("--seeds", type=whole_seed, nargs="+", default=list(SEEDS), help="default: 0 to 4")
    parser.add_argument("--stages", nargs="+", choices=every, default=every, help="default: all of them")
    parser.add_argument("--workers", type=int, default=1, help="stages that run at a time, on a core each (default: 1)")
    parser.add_argument(
        "--records",
        type=Path,
        default=kept.FILE,
        help="file of the records (default: results.jsonl here); of another "
        "one the results are printed, and not written into README.md",
    )
    parser.add_argument(
        "--weights", type=Path, default=kept.WEIGHTS, help=f"folder of the critics (default: {kept.WEIGHTS})"
    )
    parser.add_argument("--long", action="store_true", help=f"joint training of {LONG.steps} steps, not {Sizes.steps}")
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    if arguments.workers < 1:
        parser.error(f"--workers {arguments.workers}: at least 1")
    try:
        if not arguments.report:
            with held(arguments.weights, f"--weights {arguments.weights}", "another of these"):
                if not teaching.KEPT.exists():
                    teaching.keep()
                run_missing(arguments.seeds, arguments.stages, LONG if arguments.long else Sizes(), arguments)
        if arguments.records.resolve() == kept.FILE:
            for file in page.rewrite(kept.FILE):
                print(file)
        else:  # README.md is of the records here
            print(page.page(*(page.results(arguments.records, sizes) for sizes in (Sizes(), LONG))))
    except UserError as error:
        parser.error(str(error))


def run_missing(seeds: Iterable[int], stages: Iterable[str], sizes: Sizes, arguments: Any) -> None:
    """Run the stages that have no record.

    Args:
        seeds: of which.
        stages: by name.
        sizes: of all.
        arguments: with `records`, `weights` and `workers`.
    """
    seeds, stages = list(seeds), list(stages)
    for line in STAGES:
        records = kept.read(arguments.records)
        jobs = []
        for seed in seeds:
            critics = records.get(kept.key_of(CRITICS, seed, sizes))
            for stage in line:
                if stage not in stages or kept.key_of(stage, seed, sizes) in records:
                    continue
                if stage in JOINT and critics is None:
                    raise UserError(f"--stages {stage}: seed {seed} has no critics yet: add {CRITICS} to them")
                pretraining = critics["result"] if critics else None
                jobs.append(Job(stage, seed, sizes, arguments.weights, pretraining))
        for job, result in _results(jobs, arguments.workers):
            record = kept.keep(arguments.records, job.stage, job.seed, sizes, result)
            print(
                f"seed {job.seed}: {job.stage} done, {record['result']['seconds']:.0f} s of processor time", flush=True
            )


def _results(jobs: list[Job], workers: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Each as soon as it is there."""
    if workers == 1 or len(jobs) < 2:
        yield from zip(jobs, map(run, jobs), strict=True)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        going = {pool.submit(run, job): job for job in jobs}
        try:
            for ended in as_completed(going):
                yield going[ended], ended.result()
        finally:  # after a failure or Ctrl-C none that waits is begun
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
