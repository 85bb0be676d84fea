"""How the reference schedule affects PACS: a sweep over K, Adam's state, updates a step and clip, in plain torch.

    python benchmarks/reference_schedule.py --reset-every 1 5 20 50 never --optimizer keep reset \
        --updates-per-step 1 2 4 --seeds 0 1 2 --out outputs/reference_schedule.json

Trains the arithmetic recipe's model once for each combination, from the same start and on the same prompts, with the
loop of recipes/minimal.py; a run of 40 steps takes about a minute on one core. Prints a line a step, and at the end a
table of what each setting reached on the held-out problems. Results are written after each run; a sweep that is started
again continues where it stopped.
"""

import argparse
import itertools
import json
import statistics
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the recipes are beside the package, not in it

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from recipes.minimal import Settings, count_or_never, run


def name_of(settings: Settings) -> str:
    """The swept settings, for people."""
    return (
        f"K={settings.reset_every or 'never'}, Adam {'reset' if settings.reset_optimizer else 'keep'}, "
        f"{settings.updates_per_step} updates a step, lr {settings.lr:g}, beta {settings.beta:g}, "
        f"clip {settings.clip_grad:g}"
    )


def table(results: list[dict[str, Any]]) -> str:
    """Markdown, a row a setting: means over the seeds, and the lowest greedy accuracy of a seed.

    The last column is the mean training reward over all steps: how fast it learned.
    """
    names = ("greedy", "pass@1", "pass@8", "entropy", "response_length_tokens")
    lines = [
        "| setting | seeds | " + " | ".join(names) + " | lowest greedy | mean reward |",
        "|---|---|" + "---|" * (len(names) + 2),
    ]
    starts = {result["setting"]["seed"]: result["before"] for result in results}
    by_setting: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        by_setting.setdefault(name_of(Settings(**result["setting"])), []).append(result)

    def line(name: str, measured: list[dict[str, float]], mean_reward: str) -> str:
        means = " | ".join(f"{statistics.mean(numbers[n] for numbers in measured):.3f}" for n in names)
        lowest = min(numbers["greedy"] for numbers in measured)
        return f"| {name} | {len(measured)} | {means} | {lowest:.3f} | {mean_reward} |"

    lines.append(line("(the start)", list(starts.values()), ""))
    for name, group in by_setting.items():
        mean_reward = statistics.mean(point["reward"] for result in group for point in result["curve"])
        lines.append(line(name, [result["after"] for result in group], f"{mean_reward:.3f}"))
    return "\n".join(lines)


def main() -> None:
    """Run the sweep of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    several = partial(parser.add_argument, nargs="+", metavar="X")
    several("--reset-every", type=count_or_never, default=[20], help="K in steps, or never")
    parser.add_argument(
        "--optimizer", choices=["keep", "reset"], default=["keep"], nargs="+", help="Adam's state at a reset"
    )
    several("--updates-per-step", type=positive, default=[1], help="mini-batches a step")
    several("--lr", type=float, default=[1e-4])
    several("--beta", type=float, default=[1.0])
    several("--seeds", type=int, default=[0])
    parser.add_argument("--lr-warmup-updates", type=int, default=0, help="after the start and each reset of Adam")
    parser.add_argument("--steps", type=positive, default=40)
    parser.add_argument("--prompts", type=positive, default=64, help="a step (default: 64)")
    parser.add_argument("--responses", type=positive, default=8, help="a prompt (default: 8)")
    several("--clip", type=float, default=[1.0], help="gradient norm; inf never clips")
    parser.add_argument("--work", type=Path, default=Path("outputs/reference_schedule"), help="for the starts")
    parser.add_argument("--out", type=Path, default=Path("outputs/reference_schedule.json"))
    a = parser.parse_args()
    if any(a.prompts % updates for updates in a.updates_per_step):
        parser.error(f"--updates-per-step must divide --prompts {a.prompts} into whole groups")

    results = json.loads(a.out.read_text()) if a.out.exists() else []
    done = [result["setting"] for result in results]
    combinations = itertools.product(
        a.clip, a.lr, a.beta, a.updates_per_step, a.optimizer, a.reset_every, sorted(a.seeds)
    )
    settings = [
        Settings(
            steps=a.steps,
            prompts=a.prompts,
            responses=a.responses,
            updates_per_step=updates,
            reset_every=every,
            reset_optimizer=optimizer == "reset",
            beta=beta,
            lr=lr,
            lr_warmup_updates=a.lr_warmup_updates,
            clip_grad=clip,
            seed=seed,
        )
        for clip, lr, beta, updates, optimizer, every, seed in combinations
        # Never reset, Adam's state has no reset to survive: one run stands for both.
        if every is not None or optimizer == a.optimizer[0]
    ]
    for i, setting in enumerate(settings, 1):
        if asdict(setting) in done:
            continue
        print(f"run {i}/{len(settings)}: {name_of(setting)}, seed {setting.seed}", flush=True)
        try:
            results.append({"setting": asdict(setting), **run(setting, a.work / f"seed{setting.seed}")})
        except UserError as error:  # of the start
            parser.error(str(error))
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(json.dumps(results, indent=1) + "\n")
        print("  reached: " + ", ".join(f"{n} {v:.3f}" for n, v in results[-1]["after"].items()), flush=True)
    print(table([result for result in results if result["setting"] in [asdict(s) for s in settings]]))


if __name__ == "__main__":
    main()
