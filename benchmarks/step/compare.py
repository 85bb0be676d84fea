"""Child: the same step with one setting changed after another: seconds, and kernels (without a GPU torch's operations).

All variants share one worker of one model, on which each is switched on, measured and switched off again, so that one
process is enough. Results are written after each of them. An error ends the process, since the worker may be left in
the middle of a pass; `variants.run` goes on with the other variants in another one.
"""

import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import modeling_flash_attention_utils

from benchmarks.step.algorithms import pacs
from benchmarks.step.allocated import full_rows
from benchmarks.step.child import say
from benchmarks.step.counter import KernelCounter, count_compiled_kernels, stand_in_for_flash_attention
from benchmarks.step.phases import TIMED
from benchmarks.step.profiled import kernels
from benchmarks.step.variants import OUT_OF_MEMORY, UNFINISHED, VARIANTS, Variant
from benchmarks.step.workers import pacs_worker
from pacs.composing import compose_run


@contextmanager
def switched(worker: Any, variant: Variant) -> Iterator[None]:
    """The variant, inside."""
    engines = [worker.actor.engine, worker.ref.engine]
    with ExitStack() as restored:
        if variant.asks_in_every_layer:
            for name in ("_is_packed_sequence", "prepare_fa_kwargs_from_position_ids"):
                patched = getattr(modeling_flash_attention_utils, name)
                setattr(modeling_flash_attention_utils, name, patched.__wrapped__)
                restored.callback(setattr, modeling_flash_attention_utils, name, patched)
        if not variant.checkpointed:
            module = worker.actor.engine.module
            module.gradient_checkpointing_disable()
            again = {"gradient_checkpointing_kwargs": {"use_reentrant": False}}
            restored.callback(module.gradient_checkpointing_enable, **again)
        if variant.compiled:
            # Imported before, it would have compiled the kernels of all variants as the model was built.
            from pacs.integration.patches.compiled_kernels import compile_small_kernels

            for engine in engines:
                restored.callback(compile_small_kernels(engine.module))
        if variant.liger:
            from liger_kernel.transformers.monkey_patch import (  # type: ignore[import-not-found]
                _apply_liger_kernel_to_instance,
            )

            for engine in engines:  # for good: it is the last one
                _apply_liger_kernel_to_instance(model=engine.module, fused_linear_cross_entropy=False, swiglu=True)
        yield


def by_phase(worker: Any, step: Callable[[], object], counter: KernelCounter) -> dict[str, Counter[str]]:
    """What is counted in each phase of a step: the passes are the calls of `log_probs`, the update all the rest."""
    found: dict[str, Counter[str]] = {}

    def noted(name: str, log_probs: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before = counter.found.copy()
            output = log_probs(*args, **kwargs)
            found[name] = found.get(name, Counter()) + (counter.found - before)
            return output

        return call

    counter.found.clear()
    with ExitStack() as restored:
        for name, part in (("reference pass", worker.ref), ("policy pass", worker.actor)):
            part.log_probs = noted(name, part.log_probs)
            restored.callback(delattr, part, "log_probs")
        with counter:
            step()
    found["update"] = counter.found.copy()
    found["update"].subtract(found["reference pass"] + found["policy pass"])
    return found


def main(folder: Path) -> None:
    """Write the results to the settings' `out`; the work folder has compare_settings.json and the model."""
    settings = json.loads((folder / "compare_settings.json").read_text())
    config, _ = compose_run("pacs_paper", settings["overrides"])
    config.actor_rollout_ref.actor.optim.total_training_steps = 1_000_000  # as phases.py
    worker = pacs_worker(config.actor_rollout_ref)
    on_cpu = settings["device"] == "cpu"
    if on_cpu:
        stand_in_for_flash_attention()
        count_compiled_kernels()
        for part in (worker.actor, worker.ref):
            part.engine.module.config._attn_implementation = "flash_attention_2"
    vocabulary = json.loads((folder / "model" / "config.json").read_text())["vocab_size"]
    batches = {}
    for length in settings["lengths"]:
        config.data.max_response_length = length
        batches[length] = full_rows(config, vocabulary)
    say("the worker is ready")
    found: dict[str, Any] = settings["found"]

    def note(name: str, result: dict[str, Any]) -> None:
        found[name] = result
        Path(settings["out"]).write_text(json.dumps(settings["about"] | {"variants": found}, indent=1) + "\n")

    for name in settings["variants"]:
        variant = VARIANTS[name]
        if variant.liger and (on_cpu or find_spec("liger_kernel") is None):
            note(name, {"left_out": "needs a GPU" if on_cpu else "liger-kernel is not installed"})
            continue
        note(name, {"error": UNFINISHED})
        try:
            note(name, measure(worker, variant, batches, settings["steps"], on_cpu=on_cpu))
        except torch.OutOfMemoryError:
            note(name, {"error": OUT_OF_MEMORY})
            return
        except Exception as error:
            note(name, {"error": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:100]}"})
            raise
        medians = {phase: statistics.median(seconds) for phase, seconds in found[name]["seconds"].items()}
        said = ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in medians.items())
        say(f"{name}: {said}; the first step {found[name]['warm_up_seconds']:.1f} s")


def measure(worker: Any, variant: Variant, batches: dict[int, Any], steps: int, *, on_cpu: bool) -> dict[str, Any]:
    """Seconds at the last length, and what is counted at each."""
    counter, by_length = KernelCounter(), {}
    with switched(worker, variant):
        for length, batch in batches.items():

            def step(batch: Any = batch) -> dict[str, float]:
                return pacs(worker, batch, strategy="cached", entropy=variant.entropy)

            start = perf_counter()
            step()
            warm_up = perf_counter() - start
            if not on_cpu:
                torch.cuda.reset_peak_memory_stats()
            timed = [step() for _ in range(steps)]
            peak = {} if on_cpu else {"peak_bytes": torch.cuda.max_memory_allocated()}
            by_length[length] = by_phase(worker, step, counter) if on_cpu else {"step": kernels(step)}
    seconds = {phase: [each[name] for each in timed] for phase, name in TIMED.items()}
    return {"warm_up_seconds": warm_up, "counted": by_length, "seconds": seconds, **peak}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
