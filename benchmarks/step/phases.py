"""Child: time and peak memory of each phase of PACS's step, alone in its process, named as in the plan."""

import gc
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from verl.utils import tensordict_utils as tu

from benchmarks.step.algorithms import pacs
from benchmarks.step.allocated import full_rows
from benchmarks.step.beside_plan import PHASES
from benchmarks.step.child import say
from benchmarks.step.memory import read_peak, start_peak
from benchmarks.step.workers import pacs_worker
from pacs.composing import compose_run
from pacs.integration.exactness.engine_log_probs import packing_noise

#: The names of `algorithms.pacs` for the plan's phases.
TIMED = {"reference pass": "log-prob pass", "policy pass": "policy pass", "update": "actor update"}


def peaks(worker: Any, step: Callable[[], object], device: str) -> dict[str, int]:
    """Bytes at the peak of each phase of a step: the passes are the calls of `log_probs`, the update all the rest."""
    found = dict.fromkeys(PHASES, 0)

    def noted(name: str, log_probs: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            found["update"] = max(found["update"], read_peak(device))
            start_peak(device)
            output = log_probs(*args, **kwargs)
            found[name] = max(found[name], read_peak(device))
            start_peak(device)
            return output

        return call

    with ExitStack() as restored:
        for name, part in (("reference pass", worker.ref), ("policy pass", worker.actor)):
            part.log_probs = noted(name, part.log_probs)
            restored.callback(delattr, part, "log_probs")
        start_peak(device)
        step()
        found["update"] = max(found["update"], read_peak(device))
    return found


def main(folder: Path) -> None:
    """Write phases.json to the work folder, which has phases_settings.json and the model."""
    settings = json.loads((folder / "phases_settings.json").read_text())
    device = settings["device"]
    config, _ = compose_run("pacs_paper", settings["overrides"])
    # verl's trainer sets the steps of the run, of which the worker alone is here.
    config.actor_rollout_ref.actor.optim.total_training_steps = 1_000_000
    gc.collect()
    before = start_peak(device)
    worker = pacs_worker(config.actor_rollout_ref)
    vocabulary = json.loads((folder / "model" / "config.json").read_text())["vocab_size"]
    batch = full_rows(config, vocabulary)
    say("the worker is ready")

    def step() -> dict[str, float]:
        return pacs(worker, batch, strategy="cached", entropy=True)

    step()
    seconds: dict[str, list[float]] = {name: [] for name in PHASES}
    for turn in range(settings["steps"]):
        phases = step()
        for name, timed in TIMED.items():
            seconds[name].append(phases[timed])
        say(f"step {turn + 1}/{settings['steps']}: {sum(phases.values()):.1f} s")
    gc.collect()
    sizes = peaks(worker, step, device)
    rows = tu.index_select_tensor_dict(batch.data, list(range(settings["responses"])))
    found = {
        "phases": {name: {"seconds": seconds[name], "peak_bytes": sizes[name] - before} for name in PHASES},
        "packing_noise": packing_noise(worker.actor.engine, rows["input_ids"].unbind(), settings["prompt_tokens"], 1.0),
    }
    (folder / "phases.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
