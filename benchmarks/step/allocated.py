"""Child: the peak memory of PACS's training worker, from before its model is built to a step's end.

Either torch's allocations, under its profiler, or the growth of the process, without it.
"""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from omegaconf import DictConfig
from torch.profiler import ProfilerActivity, profile

from benchmarks.step.algorithms import pacs
from benchmarks.step.batch import Batch, make_batch
from benchmarks.step.child import say
from benchmarks.step.memory import read_peak, start_peak
from benchmarks.step.rollouts import make_rollouts
from benchmarks.step.workers import pacs_worker
from pacs.composing import compose_run
from pacs.integration.strategy import choose


def full_rows(config: DictConfig, vocabulary: int) -> Batch:
    """A train batch in which every prompt and every response has the length that is allowed."""
    rng, responses = random.Random(0), config.actor_rollout_ref.rollout.n
    rows = config.data.train_batch_size * responses

    def tokens(count: int) -> list[list[int]]:
        return [rng.choices(range(vocabulary), k=count) for _ in range(rows)]

    length = config.data.max_response_length
    rollouts = make_rollouts(tokens(config.data.max_prompt_length), tokens(length), [[-1.0] * length] * rows, seed=0)
    mini_batches = config.data.train_batch_size // config.actor_rollout_ref.actor.ppo_mini_batch_size
    return make_batch(rollouts, responses, mini_batches)


@contextmanager
def allocated() -> Iterator[dict[str, int]]:
    """The peak of what torch has allocated since the start, in bytes, after the end."""
    found: dict[str, int] = {}
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        yield found
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = 0
    found["peak"] = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        found["peak"] = max(found["peak"], held)


@contextmanager
def resident() -> Iterator[dict[str, int]]:
    """The peak of the process's memory over that at the start, in bytes, after the end."""
    found: dict[str, int] = {}
    before = start_peak("cpu")
    yield found
    found["peak"] = read_peak("cpu") - before


def main(folder: Path, how: str) -> None:
    """Write HOW.json to the work folder, which has overrides.json and the model."""
    config, _ = compose_run("pacs_paper", json.loads((folder / "overrides.json").read_text()))
    vocabulary = json.loads((folder / "model" / "config.json").read_text())["vocab_size"]
    batch = full_rows(config, vocabulary)
    strategy = choose(config, config.actor_rollout_ref.rollout.n * batch.data["input_ids"].offsets().diff().max())
    budget = config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu
    with {"allocated": allocated, "resident": resident}[how]() as found:
        worker = pacs_worker(config.actor_rollout_ref)
        for _ in range(2):  # Adam has no moments before the first update
            pacs(worker, batch, strategy=strategy.strategy, entropy=True, split={"max_token_len_per_gpu": budget})
    (folder / f"{how}.json").write_text(json.dumps(found))
    say(f"{how}: {found['peak']:,} bytes")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), sys.argv[2])
