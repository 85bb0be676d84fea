"""How much busy processes slow down the arithmetic recipe's warm start, by how long its threads spin.

    python benchmarks/warm_start.py

OpenMP's threads spin while they wait for each other. On an idle machine that saves a little; on a busy one it takes
the core from the very thread that is waited for. `recipes/__init__.py` limits it (GOMP_SPINCOUNT). Each measurement is
a process of its own; those of a round follow each other. Prints medians over the rounds in milliseconds a training
step, with ratios to OpenMP's default on an idle machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.table import format_table
from pacs.base.arguments import positive
from recipes import SPIN_COUNT

ROOT = Path(__file__).parents[1]
#: A process: steps of the warm start's first phase, the first of them not timed.
STEPS = """
import random, sys, time
from recipes.arithmetic import make, warm_start
from recipes.starts import supervised
problems, tokenizer = make.split_problems(0).train, make.build_tokenizer(make.MAX_POSITIONS_TOKENS)
model, rng = make.build_model(tokenizer, 0), random.Random(0)
optimizer, steps = supervised.new_adam(model), int(sys.argv[1])
for step in range(-3, steps):
    if step == 0:
        started = time.monotonic()
    drawn = rng.sample(problems, warm_start.BATCH_PROBLEMS)
    solutions = [warm_start.right_solution(problem) for problem in drawn]
    batch = supervised.collate([problem.text for problem in drawn], solutions, tokenizer)
    supervised.train_step(model, optimizer, 1e-3, batch)
print(1000 * (time.monotonic() - started) / steps)
"""
#: Spins of a waiting thread; "" leaves OpenMP's own.
SPINS = {"OpenMP's own": "", **{f"{count:,}": str(count) for count in (1_000, int(SPIN_COUNT), 100_000)}}


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute all the time."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def step_ms(steps: int, spins: str) -> float:
    """Milliseconds of a training step, in a new process."""
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_NUM_THREADS")}
    # An empty one is taken for none given, and keeps recipes/__init__.py from setting its own.
    env = others | {"GOMP_SPINCOUNT": spins, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", STEPS, str(steps)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def shown(time: float, unit: float) -> tuple[str, str]:
    """A time and its ratio."""
    return f"{time:.0f}", f"{time / unit:.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=positive, default=5, help="busy processes (default: 5)")
    parser.add_argument("--steps", type=positive, default=10, help="timed steps of a process (default: 10)")
    parser.add_argument("--rounds", type=positive, default=3, help="processes of each setting (default: 3)")
    args = parser.parse_args()
    measured: dict[tuple[str, int], list[float]] = {}
    for beside in (0, args.busy):
        with busy(beside):
            for _ in range(args.rounds):
                for name, spins in SPINS.items():
                    measured.setdefault((name, beside), []).append(step_ms(args.steps, spins))
    medians = {key: statistics.median(times) for key, times in measured.items()}
    unit = medians["OpenMP's own", 0]
    print(f"{os.cpu_count()} cores")
    rows = [
        [name, *(text for time in (medians[name, 0], medians[name, args.busy]) for text in shown(time, unit))]
        for name in SPINS
    ]
    print(format_table(["spins", "alone, ms", "ratio", f"beside {args.busy}, ms", "ratio"], rows))


if __name__ == "__main__":
    main()
