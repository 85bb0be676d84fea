"""Samples a minute with partial rollouts and without, where a few responses are much longer than most.

    python benchmarks/partial_rollouts.py                   # ahead 0.5 and 1, and waiting for every response
    python benchmarks/partial_rollouts.py --ahead 0.25 0.5 --median 32 --longest 512
    python benchmarks/partial_rollouts.py --apart           # ahead 1 with an engine apart from training, too
    python benchmarks/partial_rollouts.py --beside ../before    # and an earlier checkout, which waits for all

Real runs of `pacs train`, Ray, vLLM and FSDP2, of the arithmetic recipe's model, in turns. Lengths are log-normal, in
vLLM, whatever the policy would write (`benchmarks/lengths.py`): rewards mean nothing here. Prints medians over the
rounds: samples trained on a minute over the steps between the first two and the last, their ratio to the run that waits
for every response, seconds of generation and of a step, processor seconds of a step over all processes, and staleness.
A run's processor seconds over the number of cores are the least that its step can take.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.table import format_table
from pacs.base.arguments import positive

ROOT = Path(__file__).parents[1]
RESPONSES = 8
#: Steps at the beginning that are not counted: the first ones compile, and have nothing from before.
FIRST = 2
PROCESSOR = "benchmarks.lengths:LogNormalLengths"


class Way(NamedTuple):
    """How responses are sampled: prompts ahead, in steps (None waits for all), whether by an engine apart, by whom."""

    ahead: float | None
    apart: bool = False
    checkout: Path = ROOT

    def __str__(self) -> str:
        if self.checkout != ROOT:
            return f"{self.checkout.name} waits for all"
        return "waits for all" if self.ahead is None else f"ahead {self.ahead}{', apart' * self.apart}"


def make_task(folder: Path) -> tuple[int, int]:
    """The recipe's untrained model and problems; ids of the token that ends a prompt, and of that which ends a text."""
    from recipes.arithmetic.model import build_model
    from recipes.arithmetic.problems import split_problems, write_parquet
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(4096)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_parquet(split_problems(0).train, folder / "data.parquet", "train")
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "1+1"}], add_generation_prompt=True)[
        "input_ids"
    ]
    return prompt[-1], tokenizer.eos_token_id


def lines_of(metrics: Path) -> list[dict[str, float]]:
    """What a run has logged, a line a step; a line that is being written is left out."""
    text = metrics.read_text() if metrics.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def processor_seconds(launcher: psutil.Process) -> float:
    """Of all processes below a run's launcher so far, those that have ended among them."""
    seconds = 0.0
    for process in launcher.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            seconds += sum(process.cpu_times()[:4])
    return seconds


def measure(
    task: Path, folder: Path, way: Way, arguments: argparse.Namespace, lengths: dict[str, str]
) -> dict[str, float]:
    """One run; samples a minute, and means over its counted steps.

    Raises:
        SystemExit: it failed.
    """
    prompts = arguments.prompts
    settings = {
        "recipe": "arithmetic",
        "actor_rollout_ref.model.path": task / "model",
        "data.train_files": task / "data.parquet",
        "data.val_files": task / "data.parquet",
        # Earlier checkouts know the run's folder by its earlier name.
        "run.dir" if way.checkout == ROOT else "pacs.run_dir": folder,
        **({} if way.ahead is None else {"run.rollouts.partial.ahead": way.ahead}),
        **({"actor_rollout_ref.rollout.nnodes": 1} if way.apart else {}),
        "trainer.total_training_steps": arguments.steps,
        "trainer.val_before_train": "false",
        "trainer.test_freq": -1,
        "trainer.save_freq": -1,
        "data.train_batch_size": prompts,
        "actor_rollout_ref.actor.ppo_mini_batch_size": max(1, prompts // 2),
        "actor_rollout_ref.rollout.n": RESPONSES,
        "data.max_response_length": arguments.longest,
        "++actor_rollout_ref.rollout.engine_kwargs.vllm.logits_processors": f"[{PROCESSOR}]",
        # Padded to the longest, rows of such lengths take twice as long to train on.
        "actor_rollout_ref.model.use_remove_padding": "true",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu": 2 * arguments.longest,
    }
    command = [sys.executable, "-m", "pacs", "train", *(f"{key}={value}" for key, value in settings.items())]
    # An earlier checkout may lack the lengths.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (way.checkout, ROOT)))} | lengths
    metrics, printed = folder / "metrics.jsonl", folder.with_suffix(".log")
    used: dict[int, float] = {}  # step -> processor seconds up to its end
    with printed.open("w") as file:
        run = subprocess.Popen(command, cwd=way.checkout, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            while run.poll() is None:
                step = max((int(line["step"]) for line in lines_of(metrics) if "timing_s/step" in line), default=0)
                if step not in used:
                    used[step] = processor_seconds(psutil.Process(run.pid))
                time.sleep(0.1)
        finally:
            run.terminate()
            run.wait()
    if run.returncode:
        raise SystemExit(f"a run failed:\n{printed.read_text()[-6000:]}")
    timed = [line for line in lines_of(metrics) if "timing_s/step" in line and FIRST < line["step"] < arguments.steps]

    def mean(key: str) -> float:
        return statistics.fmean(line.get(key, 0.0) for line in timed)

    return {
        "samples/min": prompts * RESPONSES / mean("timing_s/step") * 60,
        "step, s": mean("timing_s/step"),
        "gen, s": mean("timing_s/gen"),
        "processors, s": (used[arguments.steps - 1] - used[FIRST]) / len(timed),
        "tokens": mean("response_length/mean"),
        "longest": max(line["response_length/max"] for line in timed),
        "staleness": mean("pacs/partial/staleness_mean"),
        "unfinished": mean("pacs/partial/unfinished_count"),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ahead", type=float, nargs="*", default=[0.5, 1.0], help="run.rollouts.partial.ahead")
    parser.add_argument(
        "--apart", action="store_true", help="also ahead 1, with vLLM beside the training (rollout.nnodes)"
    )
    parser.add_argument(
        "--beside", type=Path, help="another checkout, which waits for all responses, in the same rounds"
    )
    parser.add_argument("--prompts", type=positive, default=16, help="prompts a step, of 8 responses each")
    parser.add_argument("--median", type=positive, default=64, help="of the lengths, in tokens")
    parser.add_argument("--longest", type=positive, default=512, help="tokens; the longest of a step, about")
    parser.add_argument("--steps", type=positive, default=14, help="of a run")
    parser.add_argument("--rounds", type=positive, default=3)
    arguments = parser.parse_args()
    if arguments.steps < FIRST + 2 or arguments.longest <= arguments.median:
        parser.error(f"--steps is at least {FIRST + 2}, and --longest above --median")
    if arguments.beside and not (arguments.beside / "pacs").is_dir():
        parser.error(f"--beside {arguments.beside} is no checkout: give the folder that has pacs/ in it")
    # The expected longest of a step's responses is that of so many normal draws.
    of_longest = statistics.NormalDist().inv_cdf(1 - 1 / (arguments.prompts * RESPONSES))
    spread = math.log(arguments.longest / arguments.median) / of_longest
    waits = Way(None)
    ways = [waits, *map(Way, arguments.ahead), *[Way(1.0, apart=True)] * arguments.apart]
    if arguments.beside:
        ways.append(Way(None, checkout=arguments.beside.resolve()))
    found: dict[Way, list[dict[str, float]]] = {way: [] for way in ways}
    from benchmarks.lengths import setting

    with tempfile.TemporaryDirectory(prefix="partial-") as name:
        task = Path(name)
        lengths = setting(arguments.median, arguments.longest, spread, *make_task(task))
        for number in range(arguments.rounds):
            for way in ways:
                found[way].append(measure(task, task / f"run-{number}-{ways.index(way)}", way, arguments, lengths))
                print(f"round {number + 1}, {way}: {found[way][-1]}", file=sys.stderr, flush=True)
    base = statistics.median(run["samples/min"] for run in found[waits])
    rows = []
    for way, runs in found.items():
        medians = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        cells = [f"{medians[key]:.2f}" for key in medians]
        rows.append([str(way), *cells, f"{medians['samples/min'] / base:.2f}"])
    print(format_table(["", *found[waits][0], "ratio"], rows))


if __name__ == "__main__":
    main()
