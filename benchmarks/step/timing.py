"""Child: time every algorithm's phases on the same rollouts and the same model, step by step in turn."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.step.algorithms import grpo, pacs, ppo
from benchmarks.step.batch import make_batch
from benchmarks.step.child import say
from benchmarks.step.rollouts import Rollouts, pad_responses
from benchmarks.step.settings import Settings
from benchmarks.step.workers import make_critic, make_pacs, make_padded, make_verl

MINI_BATCHES = 2


def make_steps(settings: Settings, folder: Path) -> dict[str, Callable[[], dict[str, float]]]:
    """A function for each line of the table; all train one actor, so that all see the same memory."""
    verl_worker, pacs_worker, padded_worker = (make(settings, folder) for make in (make_verl, make_pacs, make_padded))
    pacs_worker.actor.engine = verl_worker.actor.engine
    padded_worker.actor.engine = verl_worker.actor.engine
    critic = make_critic(settings, folder)

    rollouts, group = Rollouts.load(folder), settings.responses
    batch = make_batch(rollouts, group, MINI_BATCHES)
    padded = make_batch(pad_responses(rollouts, settings.longest_response), group, MINI_BATCHES)
    grouped = partial(pacs, pacs_worker, batch, strategy="grouped")
    cached = partial(pacs, pacs_worker, batch, strategy="cached")
    # Where groups are forced, verl counts a static micro-batch in groups.
    static = partial(pacs, padded_worker, padded, strategy="grouped", split={"micro_batch_size_per_gpu": 1})
    return {
        "GRPO": partial(grpo, verl_worker, batch),
        "PPO": partial(ppo, verl_worker, critic, batch),
        "PACS grouped": partial(grouped, entropy=True),
        "PACS cached": partial(cached, entropy=True),
        "PACS grouped, no entropy": partial(grouped, entropy=False),
        "PACS cached, no entropy": partial(cached, entropy=False),
        "PACS grouped, after a reset": partial(grouped, entropy=True, after_reset=True),
        "PACS cached, after a reset": partial(cached, entropy=True, after_reset=True),
        "padded groups, no entropy": partial(static, entropy=False),
    }


def main(folder: Path) -> None:
    """Write timing.json to the work folder: a line's name -> the phases of each of its steps."""
    settings = Settings.read(folder)
    steps = make_steps(settings, folder)
    say("the workers are ready")
    results: dict[str, list[dict[str, float]]] = {name: [] for name in steps}
    for turn in range(settings.steps + 1):
        total = 0.0
        for name, step in steps.items():
            phases = step()
            total += sum(phases.values())
            if turn:
                results[name].append(phases)
        say(f"{f'round {turn}/{settings.steps}' if turn else 'warm-up round'}: {total:.1f} s")
    (folder / "timing.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
