"""Child: the peak memory of one algorithm's step over what it held before, alone in its process.

On a CPU that is the resident set: Linux resets the peak when "5" is written to clear_refs. The parent sets
MALLOC_MMAP_THRESHOLD_, so that freed memory leaves the resident set at once.
"""

import gc
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from benchmarks.step.algorithms import grpo, pacs, ppo
from benchmarks.step.batch import make_batch
from benchmarks.step.child import say
from benchmarks.step.rollouts import Rollouts
from benchmarks.step.settings import Settings
from benchmarks.step.workers import make_critic, make_pacs, make_verl

#: A step's one mini-batch holds all rows: room for groups of every size in micro-batches.
MINI_BATCHES = 1


def make_steps(name: str, settings: Settings, folder: Path) -> tuple[Any, dict[str, Callable[[], object]]]:
    """The engine of the actor, and a step for each line of the table."""
    rollouts = Rollouts.load(folder)
    batch = make_batch(rollouts, settings.responses, MINI_BATCHES)
    if name == "GRPO":
        worker = make_verl(settings, folder)
        return worker.actor.engine, {name: partial(grpo, worker, batch)}
    if name == "PPO":
        worker, critic = make_verl(settings, folder), make_critic(settings, folder)
        return worker.actor.engine, {name: partial(ppo, worker, critic, batch)}
    pacs_worker = make_pacs(settings, folder)

    def step(strategy: Literal["grouped", "cached"], group: int, *, entropy: bool) -> Callable[[], object]:
        """A step with groups of that size; `grouped` needs a micro-batch that holds the largest possible one."""
        budget = settings.token_budget(group if strategy == "grouped" else settings.responses)
        regrouped = make_batch(rollouts, group, MINI_BATCHES)
        split = {"max_token_len_per_gpu": budget}
        return partial(pacs, pacs_worker, regrouped, strategy=strategy, entropy=entropy, split=split)

    steps = {}
    strategies: tuple[Literal["cached", "grouped"], ...] = ("cached", "grouped")
    for strategy in strategies:
        for group in settings.group_sizes():
            steps[f"PACS {strategy}, groups of {group}"] = step(strategy, group, entropy=True)
        steps[f"PACS {strategy}, no entropy"] = step(strategy, settings.responses, entropy=False)
    return pacs_worker.actor.engine, steps


def measure(step: Callable[[], object], engine: Any, device: str) -> dict[str, int]:
    """Bytes held before a step, its peak over that, and tokens of the largest micro-batch of its updates."""
    tokens: list[int] = []
    forward_step = engine.forward_step

    def noted(micro_batch: Any, loss_function: Any, forward_only: bool) -> Any:
        if not forward_only:
            tokens.append(micro_batch["input_ids"].values().numel())
        return forward_step(micro_batch, loss_function, forward_only)

    step()
    gc.collect()
    engine.forward_step = noted
    before = start_peak(device)
    step()
    peak = read_peak(device)
    engine.forward_step = forward_step
    return {"before": before, "over": peak - before, "micro_batch_tokens": max(tokens)}


def start_peak(device: str) -> int:
    """Forget the peak so far; the bytes held now."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    Path("/proc/self/clear_refs").write_text("5")
    return status_bytes("VmRSS")


def read_peak(device: str) -> int:
    """The peak since `start_peak`, in bytes."""
    return torch.cuda.max_memory_allocated() if device == "cuda" else status_bytes("VmHWM")


def status_bytes(field: str) -> int:
    """A size from the kernel's status of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def main(folder: Path, name: str) -> None:
    """Write memory_NAME.json to the work folder: a line's name -> what `measure` says."""
    settings = Settings.read(folder)
    engine, steps = make_steps(name, settings, folder)
    results = {line: measure(step, engine, settings.device) for line, step in steps.items()}
    (folder / f"memory_{name}.json").write_text(json.dumps(results))
    say(f"{name}: done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
