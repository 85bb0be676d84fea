"""How long a training step of PACS takes compared with GRPO and PPO, and how much memory it needs.

    python benchmarks/step.py                                     a tiny Qwen3 on the CPU
    python benchmarks/step.py --device cuda --shape 1.7b          a published shape on one GPU
    python benchmarks/step.py --no-generation --steps 2           a quick look, without vLLM
    python benchmarks/step.py --device cuda --shape 0.6b --attn sdpa --no-generation     without flash-attn and vLLM

All algorithms train the same random model (nothing is downloaded) on the same rollouts, through verl's own workers and
FSDP2 engine in one process: two mini-batches a step, packed sequences, micro-batches of up to one group of longest
responses. They take turns, so that noise hits all alike; a ratio is the median over the turns.

  GRPO, PPO     verl's workers, losses and critic, no KL; the old-log-probability pass computes the entropy
  PACS          with a reference that is not the policy (a step between two resets); the entropy is computed in the
                update's passes, or not at all; `grouped` keeps groups in a micro-batch, `cached` scores all rows first
  after a reset the reference is the policy: no pass for the first mini-batch
  padded groups the design of the public PACS code: the policy's log-probabilities first, static micro-batches of
                one group, every response padded to the maximum length

Response lengths are log-normal, the longest eight times the median; vLLM samples responses of these lengths (timed,
once). Memory is measured in one process an algorithm: the peak of a step over what was held before it, with all rows in
one mini-batch.

A CPU run has one thread, and verl's packed sequences use a dense attention mask there: attention costs the square of a
micro-batch's tokens, not of a response's (about a sixth of a step of `tiny`). A smaller micro-batch is therefore
cheaper than on a GPU, where attention is flash attention, gradients are checkpointed, and weights and Adam's state are
bf16, so that 4b fits next to its critic.
"""

import argparse
import json
import shlex
import statistics
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.step.arguments import ATTENTION, ATTENTION_HELP, HEAD_HELP, HEADS, choose_layout
from benchmarks.step.child import ON_CPU, one_rank, run_child
from benchmarks.step.model import describe_machine, save_model
from benchmarks.step.report import measured_bars, report, timing_table
from benchmarks.step.rollouts import Rollouts, random_rollouts
from benchmarks.step.settings import SHAPES, Settings

#: Freed memory leaves the resident set at once.
RETURN_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536"}


def run(settings: Settings, folder: Path, *, generation: bool) -> dict[str, Any]:
    """Measure everything, in children that write to `folder`."""
    env = ON_CPU if settings.device == "cpu" else {}
    settings.write(folder)
    print("making the model", flush=True)
    parameters = save_model(SHAPES[settings.shape].model, folder / "model", settings.device, settings.seed)
    if generation:
        print("sampling with vLLM", flush=True)
        run_child("generate", [str(folder)], env, folder / "generate.log")
    else:
        random_rollouts(settings, SHAPES[settings.shape].model.vocab_size).save(folder)
    lengths = [len(response) for response in Rollouts.load(folder).responses]

    print("timing", flush=True)
    run_child("timing", [str(folder)], env | one_rank(), folder / "timing.log")
    timing = json.loads((folder / "timing.json").read_text())
    print(f"\n{timing_table(timing)}\n\nmemory", flush=True)
    memory: dict[str, Any] = {}
    for name in ("GRPO", "PPO", "PACS"):
        run_child("memory", [str(folder), name], env | one_rank() | RETURN_MEMORY, folder / f"memory_{name}.log")
        memory |= json.loads((folder / f"memory_{name}.json").read_text())
    return {
        "machine": describe_machine(settings.device),
        "settings": asdict(settings),
        "parameters": parameters,
        "response_tokens": {"total": sum(lengths), "median": statistics.median(lengths), "longest": max(lengths)},
        "generation": json.loads((folder / "generation.json").read_text()) if generation else None,
        "timing": timing,
        "memory": memory,
    }


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    # Of 8b nothing fits beside PPO's critic: step_against_plan.py has it.
    parser.add_argument("--shape", choices=[*SHAPES][:-1], default="tiny", help="shape of the model (default: tiny)")
    parser.add_argument("--steps", type=int, default=10, help="timed steps, after one of warm-up (default: 10)")
    parser.add_argument("--responses", type=int, default=8, help="responses a prompt (default: 8)")
    parser.add_argument("--prompts", type=int, help="prompts a step, an even number (default: the shape's)")
    parser.add_argument("--median-tokens", type=int, help="median length of a response (default: the shape's)")
    parser.add_argument("--attn", choices=[*ATTENTION], help=ATTENTION_HELP)
    parser.add_argument("--head", choices=HEADS, help=f"{HEAD_HELP} (default: torch; on the CPU model)")
    parser.add_argument("--no-generation", action="store_true", help="random tokens of the same lengths, without vLLM")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measured step there too")
    a = parser.parse_args(arguments)
    choose_layout(parser, a)
    if not a.no_generation and find_spec("vllm") is None:
        parser.error("vLLM is not installed: add --no-generation, or make the environment (scripts/setup_gpu.sh)")
    shape = SHAPES[a.shape]
    a.prompts = a.prompts or shape.prompts
    a.median_tokens = a.median_tokens or shape.median_tokens
    if a.prompts % 2 or a.responses < 2 or a.steps < 1:
        parser.error("--prompts must be even (two mini-batches), --responses at least 2 and --steps at least 1")
    return a


def main() -> None:
    """Measure, print, and write."""
    a = parse(sys.argv[1:])
    settings = Settings(
        shape=a.shape,
        device=a.device,
        prompts=a.prompts,
        responses=a.responses,
        prompt_tokens=SHAPES[a.shape].prompt_tokens,
        median_tokens=a.median_tokens,
        steps=a.steps,
        head=a.head,
        attention=ATTENTION[a.attn],
        seed=0,
    )
    with tempfile.TemporaryDirectory(prefix="pacs-benchmark-") as folder:
        results = run(settings, Path(folder), generation=not a.no_generation)
    results = {"command": f"python {shlex.join(sys.argv)}"} | results
    results["bars"] = [asdict(bar) | {"value": bar.value, "holds": bar.holds} for bar in measured_bars(results)]
    print(f"\n{report(results)}")
    if a.json:
        a.json.parent.mkdir(parents=True, exist_ok=True)
        a.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
