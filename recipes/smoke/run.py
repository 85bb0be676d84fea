"""Does this machine do what a run needs? What `scripts/smoke.sh` runs.

    python -m recipes.smoke.run [--shape NAME] [--layers N] [--hardware NAME] [--no-resume] [--out DIR] [key=value ...]

Trains a model of that shape with random weights through the whole stack, nothing downloaded: three steps with a reset
of the reference after the second, a save, and a fourth step by a second start. Then it holds what the run has logged
against what must be true on a machine that works (the gates), and its memory against `pacs plan`. All of it stays in
DIR: model/, run/, gates.json. A smoke that was cut off goes on where it was.
Exit status: 0 every gate is passed, 1 one is not or training failed, 2 it cannot start as asked.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from omegaconf import DictConfig

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.base.terminal import print
from pacs.composing import compose_run, quoted
from pacs.planning.plan import Plan, make_plan
from pacs.planning.plan_text import full
from recipes.own_folder import check_own_folder
from recipes.smoke.gates import Gate, gates
from recipes.smoke.make import SHAPES, describe, make
from recipes.training import train_in, trained_steps

MADE = ("model", "prompts.parquet", "manifest.json", "run", "gates.json")
#: Of the second start.
STEPS_AFTER = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Make, train, resume, judge; the exit status."""
    parsed = _parser().parse_args(arguments)
    name = parsed.shape if parsed.layers is None else f"{parsed.shape}-{parsed.layers}_layers"
    out = (parsed.out or Path("outputs") / f"smoke-{name}").absolute()
    on_cpu = parsed.hardware == "cpu"
    shape = SHAPES[parsed.shape]
    if parsed.layers is not None:
        shape = replace(shape, num_hidden_layers=parsed.layers)
    try:
        check_own_folder(out, MADE)
    except UserError as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 2
    overrides = [
        "recipe=smoke",
        f"hardware={parsed.hardware}",
        f"actor_rollout_ref.model.path={quoted(str(out / 'model'))}",
        f"data.train_files={quoted(str(out / 'prompts.parquet'))}",
        f"data.val_files={quoted(str(out / 'prompts.parquet'))}",
        f"reward.custom_reward_function.path={quoted(str(Path(__file__).with_name('reward.py')))}",
        *(["trainer.save_freq=-1"] if parsed.no_resume else []),
        *parsed.overrides,
    ]
    try:
        config, hardware = compose_run("pacs", overrides)
        steps = steps_of(config, 0 if parsed.no_resume else STEPS_AFTER)
    except UserError as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 2
    model = (shape, torch.float32 if on_cpu else torch.bfloat16, 0)
    describe(out, *model)
    try:
        plan = make_plan(config, hardware=hardware)
    except UserError as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 2
    if not plan.fits:
        advice = "take fewer --layers, a smaller --shape, or one of its changes"
        print(f"{full(plan)}\nsmoke: by the plan it does not fit: {advice}", file=sys.stderr)
        return 2
    make(out, *model)
    train_in(out / "run", overrides)
    if not parsed.no_resume:
        train_in(out / "run", [*overrides, f"trainer.total_training_steps={steps + STEPS_AFTER}"])
    found = judge(out / "run", config, plan, resumed_after=None if parsed.no_resume else steps)
    write_atomically(out / "gates.json", json.dumps([asdict(gate) for gate in found], indent=1) + "\n")
    show(found, out)
    return int(any(gate.passed is False for gate in found))


def steps_of(config: DictConfig, after: int) -> int:
    """Steps of the first start.

    Args:
        config: of the run.
        after: steps of the second start.

    Raises:
        UserError: with these steps a gate has nothing to judge: no reset of the reference, or no step behind one.
    """
    steps, every = config.trainer.total_training_steps or 0, config.method.reference.reset_every
    if every is None or not 1 < every < steps + after:
        raise UserError(
            f"method.reference.reset_every={every} with {steps + after} steps: the gates compare steps before and "
            "after a reset: set at least 2, and fewer than the steps"
        )
    return int(steps)


def judge(run: Path, config: DictConfig, plan: Plan, *, resumed_after: int | None) -> list[Gate]:
    """The gates of a run's folder; see `gates`."""
    return gates(
        trained_steps(run),
        reset_every=int(config.method.reference.reset_every),
        resumed_after=resumed_after,
        dtype="float32" if plan.work.on_cpu else "bfloat16",
        plan=plan,
    )


def show(found: Sequence[Gate], out: Path) -> None:
    """Print the gates, and what to do about those that are not passed."""
    words = {True: "passed", False: "FAILED", None: "not seen"}
    print()
    for gate in found:
        print(f"{words[gate.passed]:8}  {gate.name}\n          {gate.measured}; wanted: {gate.wanted}")
        if gate.passed is False:
            print(f"          {gate.advice}")
    print(f"\n  gates  {out / 'gates.json'}\n  run    {out / 'run'}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smoke.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    gpu = torch.cuda.is_available()
    parser.add_argument(
        "--shape", choices=SHAPES, default="qwen3_0_6b" if gpu else "tiny",
        help="of the model (default: qwen3_0_6b on a GPU, tiny without one)",
    )  # fmt: skip
    parser.add_argument("--layers", type=positive, metavar="N", help="fewer than the shape has, where all do not fit")
    parser.add_argument(
        "--hardware", default="h200x1" if gpu else "cpu", metavar="NAME",
        help="a file of configs/hardware (default: h200x1, or cpu without a GPU)",
    )  # fmt: skip
    parser.add_argument(
        "--no-resume", action="store_true", help="save nothing: a checkpoint takes 12 bytes a parameter"
    )
    parser.add_argument("--out", type=Path, help="folder for everything (default: outputs/smoke-SHAPE)")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="as of `pacs train`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
