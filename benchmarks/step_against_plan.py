"""A training step of PACS at published shapes on one GPU, compared with `pacs plan` for the same setting.

    python benchmarks/step_against_plan.py                                     a tiny Qwen3 on the CPU
    python benchmarks/step_against_plan.py --device cuda                       0.6b, 1.7b, 4b, 8b, both fused heads
    python benchmarks/step_against_plan.py --device cuda --attn sdpa --shape 8b --head triton

Random weights (nothing is downloaded) and Adam's state in bf16, gradients checkpointed, packed rows of the longest
prompts and responses. The strategy is `cached`, so that each phase of the plan occurs: the reference's log-probs (its
weights come from the host), the policy's, and the update. Each setting runs in a process of its own: one step of
warm-up, then the timed ones (medians), then one that reads the peak memory of each phase. It also measures how far the
log-ratio of identical weights is from 0 when the same rows are packed in two ways (docs/algorithm.md).

--compare changes one setting after another on one worker (benchmarks/step/variants.py): recomputation, entropy, small
kernels compiled or liger-kernel's (left out where it is not installed: `pip install --no-deps liger-kernel`). On a GPU
it prints seconds, and kernels from the profiler. On a CPU it counts torch's operations instead of kernels, of a decoder
layer and of the rest, with models of one and two layers of that shape in bf16. A variant that fails is named in the
table, and the others are measured; the exit status is then 1. A shape that takes longer than --limit is stopped, and
keeps what it has written: the variants come in the order of their worth.

Each result is written to OUT at once, with the machine's name, and is not measured again: an interrupted run continues
where it was. (--compare measures again, and replaces its older file.) Out of memory is a result, too; any other failure
is retried after the other settings. The default OUT is meant to be committed.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.step.arguments import ATTENTION, ATTENTION_HELP, HEAD_HELP, HEADS, choose_layout
from benchmarks.step.beside_plan import estimate, noise_table, overrides, table
from benchmarks.step.child import ON_CPU, ROOT, one_rank, run_child
from benchmarks.step.model import describe_machine, machine_slug, save_model
from benchmarks.step.settings import SHAPES
from benchmarks.step.variants import VARIANTS, counts_table, failures, run, seconds_table
from pacs.base.arguments import positive, seconds
from pacs.planning.architecture import Architecture
from pacs.planning.devices import GPUS

#: Longest prompt and response; a group of eight fills a micro-batch of 18,432 tokens.
LENGTHS = {"smoke": (4, 12), "tiny": (16, 112)}
PUBLISHED_LENGTHS = (256, 2048)
#: Of --compare on a CPU: layers of the two models, and tokens of a response; a prompt has as many as the shorter one.
LAYERS_COUNTED, LENGTHS_COUNTED = (1, 2), (16, 32)
#: Of --compare: by the plan all variants at 0.6B with --prompts 2 take 80 s on an H200; with the imports, the model and
#: three compilations 200.
LIMIT = 300


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--shape", choices=[*SHAPES], nargs="+", help="(default: all published ones; on the CPU tiny)")
    parser.add_argument("--layers", type=positive, help="fewer than the shape has (default: all)")
    parser.add_argument("--attn", choices=[*ATTENTION], help=ATTENTION_HELP)
    parser.add_argument(
        "--head", choices=HEADS, nargs="+", help=f"{HEAD_HELP} (default: torch triton; on the CPU torch)"
    )
    parser.add_argument("--steps", type=int, default=2, help="timed steps, after one of warm-up (default: 2)")
    parser.add_argument("--prompts", type=int, default=8, help="prompts a step of two updates, even (default: 8)")
    parser.add_argument("--responses", type=int, default=8, help="responses a prompt (default: 8)")
    parser.add_argument("--gpu", choices=[*GPUS], help="whose data sheet to plan with (default: by the GPU's name)")
    parser.add_argument("--compare", action="store_true", help="measure each setting that may make a step faster")
    parser.add_argument("--variants", nargs="+", choices=[*VARIANTS], default=[*VARIANTS], help="variants of --compare")
    parser.add_argument(
        "--limit", type=seconds, default=LIMIT, help=f"seconds a model of --compare may take (default: {LIMIT})"
    )
    parser.add_argument("--out", type=Path, help="(default: benchmarks/results/MACHINE)")
    a = parser.parse_args(arguments)
    cpu = a.device == "cpu"
    a.shape = a.shape or (["tiny"] if cpu else [name for name in SHAPES if name.endswith("b")])
    a.head = a.head or (["torch"] if cpu else ["torch", "triton"])
    choose_layout(parser, a)
    if a.prompts < 2 or a.prompts % 2 or a.responses < 2 or a.steps < 1:
        parser.error("--prompts must be even (two updates), --responses at least 2 and --steps at least 1")
    a.machine = describe_machine(a.device)
    if not cpu and a.gpu is None:
        a.gpu = next((name for name in GPUS if name in a.machine["device"].lower()), None)
        if a.gpu is None:
            parser.error(f"{a.machine['device']} is not in pacs/planning/devices.py: add --gpu")
    a.out = a.out or ROOT / "benchmarks" / "results" / machine_slug(a.machine)
    return a


def model_of(shape: str, layers: int | None) -> Architecture:
    """The shape, with so many layers if they are not its own."""
    full = SHAPES[shape].model
    return replace(full, num_hidden_layers=layers) if layers else full


def results_name(a: argparse.Namespace, what: str, shape: str, head: str, layers: int | None) -> str:
    """The name of a file of results. `layers` if they are not the shape's."""
    return f"{what}_{shape}_{head}_{a.attn}{f'_{layers}_layers' if layers else ''}.json"


def setting(a: argparse.Namespace, shape: str, head: str) -> dict[str, Any]:
    """What is measured."""
    prompt_tokens, response_tokens = LENGTHS.get(shape, PUBLISHED_LENGTHS)
    return {
        "device": a.device,
        "shape": shape,
        "head": head,
        "attention": ATTENTION[a.attn],
        "prompts": a.prompts,
        "responses": a.responses,
        "prompt_tokens": prompt_tokens,
        "response_tokens": response_tokens,
        "steps": a.steps,
        **({"layers": a.layers} if a.layers else {}),
    }


def measure(a: argparse.Namespace, settings: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run one setting, whose model is in the folder; an `error` in place of `measured` if it fails."""
    run = overrides(settings, folder / "model")
    planned = estimate(run, a.gpu, settings["response_tokens"])
    result = {"machine": a.machine, "settings": settings, "planned": planned}
    (folder / "phases_settings.json").write_text(json.dumps(settings | {"overrides": run}))
    env = one_rank() | (ON_CPU | {"MALLOC_MMAP_THRESHOLD_": "65536"} if a.device == "cpu" else {})
    try:
        run_child("phases", [str(folder)], env, folder / "phases.log")
    except SystemExit as error:
        said = str(error)
        out_of_memory = "OutOfMemoryError" in said
        print(said[-2000:] if not out_of_memory else "  out of memory", flush=True)
        return result | {"error": "out of memory" if out_of_memory else said[-2000:]}
    return result | {"measured": json.loads((folder / "phases.json").read_text())}


def compare(a: argparse.Namespace) -> int:
    """Each variant of each shape with one head. 1 if a variant failed, or there was no time for it."""
    on_cpu, failed = a.device == "cpu", []
    for shape in a.shape:
        tables: list[dict[str, Any]] = []
        for layers in LAYERS_COUNTED if on_cpu and not a.layers else [a.layers]:
            model = model_of(shape, layers)
            settings = setting(a, shape, a.head[-1]) | {"layers": model.num_hidden_layers, "as_on_a_gpu": True}
            if on_cpu:
                settings |= {"prompt_tokens": LENGTHS_COUNTED[0], "response_tokens": LENGTHS_COUNTED[-1]}
            lengths = LENGTHS_COUNTED if on_cpu else [settings["response_tokens"]]
            name = results_name(a, "compare", shape, a.head[-1], layers)
            print(f"{shape}, {model.num_hidden_layers} layers", flush=True)
            with tempfile.TemporaryDirectory(prefix="pacs-benchmark-") as work:
                folder = Path(work)
                save_model(model, folder / "model", a.device, seed=0)
                child = {key: settings[key] for key in ("device", "steps")} | {"out": str((a.out / name).resolve())}
                child |= {"overrides": overrides(settings, folder / "model"), "lengths": lengths}
                child["about"] = {"machine": a.machine, "settings": settings}
                found = run(a.variants, child, folder, one_rank() | (ON_CPU if on_cpu else {}), a.limit)
            failed += [f"{name}: {variant}" for variant in failures(a.variants, found)]
            if found:
                rows = settings["prompts"] * settings["responses"]
                tables.append({variant: each | {"rows": rows} for variant, each in found.items()})
                print(f"\n{name}\n{seconds_table(tables[-1])}\n", flush=True)
        if len(tables) == len(LAYERS_COUNTED):
            print(counts_table(tables[0], tables[1], LAYERS_COUNTED[1] - LAYERS_COUNTED[0]))
    if failed:
        print("without a result:", *failed, sep="\n  ")
    return int(bool(failed))


def there(file: Path, a: argparse.Namespace, settings: dict[str, Any]) -> bool:
    """Whether a file has this setting's result on this machine."""
    if not file.is_file():
        return False
    found = json.loads(file.read_text())
    return (found["settings"], found["machine"]) == (settings, a.machine)


def main() -> int:
    """Measure what is not there yet; print all that is. 1 if a setting failed otherwise than for want of memory."""
    a = parse(sys.argv[1:])
    a.out.mkdir(parents=True, exist_ok=True)
    if a.compare:
        return compare(a)
    results, failed = [], []
    for shape in a.shape:
        with tempfile.TemporaryDirectory(prefix="pacs-benchmark-") as folder:
            for head in a.head:
                settings = setting(a, shape, head)
                file = a.out / results_name(a, "step", shape, head, a.layers)
                if there(file, a, settings):
                    print(f"{file.name}: there already", flush=True)
                    results.append(json.loads(file.read_text()))
                    continue
                print(f"{shape}, {head}", flush=True)
                if not (Path(folder) / "model").is_dir():
                    save_model(model_of(shape, a.layers), Path(folder) / "model", a.device, seed=0)
                result = measure(a, settings, Path(folder))
                if result.get("error", "out of memory") == "out of memory":
                    file.write_text(json.dumps(result, indent=1) + "\n")
                    results.append(result)
                else:
                    failed.append(file.name)
    print(f"\n{a.machine['device']}, torch {a.machine['torch']}, attention {ATTENTION[a.attn]}; results in {a.out}")
    if results:
        print(f"\n{table(results)}\n\n{noise_table(results)}")
    if failed:
        print(f"\nfailed, and will be tried anew: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
