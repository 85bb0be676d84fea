"""The whole recipe, from nothing to a table and a plot: what `scripts/quickstart.sh` runs.

    python -m recipes.arithmetic.run [--seed N] [--out DIR]

Everything goes to DIR: task/ (model and problems), run/ (the training run),
model/ (the trained policy), result.json, and report/ (overview.png, index.html). What is there already is reused.
"""

import argparse
import json
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacs.base.arguments import whole_seed
from pacs.base.errors import UserError
from pacs.base.files import read_json, write_atomically
from pacs.base.terminal import print
from pacs.checkpoints.source import find_source
from pacs.composing import quoted
from pacs.export.folder import export
from pacs.report import format_table, read_run, write_report
from recipes.arithmetic.make import make
from recipes.arithmetic.measure import measure
from recipes.own_folder import check_own_folder
from recipes.training import train_in, trained_steps

MADE = ("task", "run", "model", "report", "result.json")
MEASURES = ("greedy", "pass@1", "pass@8", "entropy")


def main() -> None:
    """Make, train, measure, report."""
    parser = argparse.ArgumentParser(
        prog="quickstart.sh", description="Watch a language model learn arithmetic with PACS."
    )
    parser.add_argument(
        "--seed", type=whole_seed, default=0, help="of the model, the problems and the sampling (default: 0)"
    )
    parser.add_argument("--out", type=Path, help="folder for everything (default: outputs/quickstart-seed<N>)")
    arguments = parser.parse_args()
    seed: int = arguments.seed
    out = (arguments.out or Path("outputs") / f"quickstart-seed{seed}").absolute()
    try:
        check_own_folder(out, MADE)
        check_seed(out, seed)
        run(out, seed)
    except UserError as error:
        parser.error(str(error))


def check_seed(out: Path, seed: int) -> None:
    """Refuse a folder that was begun with another seed, of which nothing would be left.

    Raises:
        UserError: it was.
    """
    for file in (out / "result.json", out / "task" / "manifest.json"):
        there = (read_json(file) or {}).get("seed", seed)
        if there != seed:
            raise UserError(f"--seed {seed}: {out} is of seed {there}: give another --out, or --seed {there}")


def run(out: Path, seed: int) -> None:
    """What of `out` is not there yet, and the table.

    Raises:
        UserError: a part of it is not what it should be.
    """
    result_file = out / "result.json"
    if result_file.exists():
        print(f"result: reusing {result_file}; remove {out} or give another --out to train again")
        show(json.loads(result_file.read_text()), out)
        return

    started = time.monotonic()
    make(out / "task", seed=seed)
    made = time.monotonic()
    train(out, seed)
    trained = time.monotonic()
    print("measuring the trained policy on the held-out problems", flush=True)
    after = measure(final_model(out), out / "task" / "test.parquet", seed=seed)
    about = read_run(out / "run").info
    result = {
        "seed": seed,
        "before": picked(json.loads((out / "task" / "before.json").read_text())),
        "after": picked(after),
        "seconds": {
            "make": round(made - started, 1),
            "train": round(trained - made, 1),
            "step_median": round(statistics.median(step_seconds(out)), 2),
            "measure": round(time.monotonic() - trained, 1),
        },
        "run": {key: about[key] for key in ("started", "git_commit", "python", "versions")},
    }
    write_report([out / "run"], out / "report", tables={"held-out problems": table(result)})
    write_atomically(result_file, json.dumps(result, indent=2) + "\n")
    show(result, out)


def train(out: Path, seed: int) -> None:
    """Train into `out`/run."""
    task, run = out / "task", out / "run"
    overrides = [
        "recipe=arithmetic",
        f"actor_rollout_ref.model.path={quoted(str(task / 'model'))}",
        f"data.train_files={quoted(str(task / 'train.parquet'))}",
        f"data.val_files={quoted(str(task / 'test.parquet'))}",
        f"data.seed={seed}",
        f"actor_rollout_ref.rollout.seed={seed}",
    ]
    train_in(run, overrides)


def final_model(out: Path) -> Path:
    """The run's newest checkpoint as a Hugging Face folder, `pacs export`."""
    model = out / "model"
    if not model.exists():
        export(find_source(out / "run"), model, "float32")
    return model


def step_seconds(out: Path) -> list[float]:
    """Seconds of every training step, the first (which starts the last processes) left out."""
    return [step["timing_s/step"] for step in trained_steps(out / "run") if step["step"] > 1]


def picked(measured: Mapping[str, Any]) -> dict[str, float]:
    """The four numbers of the table."""
    return {name: round(measured[name], 4) for name in MEASURES}


def table(result: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Rows before and after, a column a measure."""
    return {row: dict(result[row]) for row in ("before", "after")}


def show(result: Mapping[str, Any], out: Path) -> None:
    """The end of the quickstart: the table, and where everything is."""
    seconds = result["seconds"]
    print(f"\nHeld-out problems (pass@k at temperature 1; entropy in nats a token)\n{format_table(table(result))}")
    print(f"\n{seconds['step_median']} s a step, {seconds['train']} s of training in all")
    print(f"\n  numbers   {out / 'result.json'}\n  plot      {out / 'report' / 'overview.png'}")
    print(f"  report    {out / 'report' / 'index.html'}\n  run       {out / 'run'} (tensorboard --logdir it)")
    print(f"  model     {out / 'model'} (a Hugging Face folder)")


if __name__ == "__main__":
    main()
