"""What `step_against_plan.py --compare` tries, one after another, and the tables of its results."""

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.step.child import run_child
from benchmarks.table import format_table

#: What is counted where there is no GPU, and in which unit a table has it.
UNITS = {"launches": 1, "bytes": 1024, "waits": 1}


@dataclass(frozen=True)
class Variant:
    """A step that is otherwise than a run's default.

    Attributes:
        asks_in_every_layer: where packed rows begin, as transformers does without the patch of that.
        checkpointed: activations are calculated again.
        entropy: calculated in the update (`method.metrics.entropy_every`).
        compiled: norms, rotary embeddings and activations (`pacs.integration.patches.compiled_kernels`).
        liger: the same by liger-kernel (`actor_rollout_ref.model.use_liger`).
    """

    asks_in_every_layer: bool = False
    checkpointed: bool = True
    entropy: bool = True
    compiled: bool = False
    liger: bool = False


#: The first is what the others are compared with, then as they are worth the time. What liger-kernel changes stays, so
#: it is last.
VARIANTS = {
    "before": Variant(asks_in_every_layer=True),
    "default": Variant(),
    "compiled, not checkpointed": Variant(compiled=True, checkpointed=False),
    "not checkpointed": Variant(checkpointed=False),
    "compiled": Variant(compiled=True),
    "no entropy": Variant(entropy=False),
    "liger": Variant(liger=True),
    "liger, not checkpointed": Variant(liger=True, checkpointed=False),
}

#: Errors of a variant: one that is a result, and what stands for one that has begun and was cut off.
OUT_OF_MEMORY, UNFINISHED = "out of memory", "did not end"


def run(
    names: list[str], settings: Mapping[str, Any], folder: Path, env: dict[str, str], limit: float
) -> dict[str, Any]:
    """Measure variants in processes of their own: the first one, and after an error another one for what is left.

    Args:
        names: of the variants.
        settings: of `compare.py`: `out`, its file of results, and what else it reads.
        folder: for the settings and the log; it has the model.
        env: of the processes.
        limit: seconds for all of them.

    Returns:
        Variant -> what was found. One that there was no time for, or whose process could not start, is not in it.
    """
    out, found = Path(settings["out"]), dict[str, Any]()
    before = out.read_bytes() if out.is_file() else None
    end = time.monotonic() + limit
    while (names := [name for name in names if name not in found]) and (seconds := end - time.monotonic()) > 0:
        mine = {**settings, "variants": names, "found": found}
        (folder / "compare_settings.json").write_text(json.dumps(mine))
        try:
            run_child("compare", [str(folder)], env, folder / "compare.log", limit=seconds)
        except SystemExit as error:
            over = time.monotonic() >= end
            print(f"  cut off after {limit:.0f} s" if over else str(error)[-2000:], flush=True)
        if not out.is_file() or out.read_bytes() == before:
            break
        found = json.loads(out.read_text())["variants"]
        if not found.keys() & set(names):
            break
    return found


def failures(names: list[str], found: Mapping[str, Any]) -> list[str]:
    """Variants without a result. To be out of memory is one."""
    return [name for name in names if found.get(name, {"error": ""}).get("error", OUT_OF_MEMORY) != OUT_OF_MEMORY]


def seconds_table(variants: Mapping[str, Any]) -> str:
    """A line a variant: median seconds of each phase, and their ratio to the first variant's; kernels and memory."""
    first = next(iter(variants.values())).get("seconds", {})  # none where memory ran out
    phases = next((list(found["seconds"]) for found in variants.values() if "seconds" in found), [])
    rows = []
    for name, found in variants.items():
        if "seconds" not in found:
            rows.append([name, *[""] * (2 * len(phases)), found.get("error") or f"left out: {found['left_out']}", ""])
            continue
        cells = []
        for phase in phases:
            ours = statistics.median(found["seconds"][phase])
            cells += [f"{ours:.3f}", f"{ours / statistics.median(first[phase]):.2f}" if first else ""]
        step = next(reversed(found["counted"].values())).get("step")
        on_gpu = f"{step['launches']:,.0f}, {step['busy_seconds']:.3f} s busy" if step else ""
        peak = f"{found['peak_bytes'] / 2**30:.2f}" if "peak_bytes" in found else ""
        rows.append([name, *cells, on_gpu, peak])
    return format_table(["", *[cell for phase in phases for cell in (phase, "ratio")], "kernels", "peak, GiB"], rows)


def per_layer(
    few: Mapping[str, Any], more: Mapping[str, Any], layers: int, phase: str, what: str
) -> tuple[float, float]:
    """What is counted of one layer, and of the smaller of two models whose numbers of layers differ by `layers`.

    Launches and waits are those of a step; bytes those of a token, from two lengths, and so without those of weights.
    """

    def value(found: Mapping[str, Any]) -> float:
        (short, a), (long, b) = ((int(key), each[phase].get(what, 0)) for key, each in found["counted"].items())
        return (b - a) / (long - short) / found["rows"] if what == "bytes" else float(b)

    layer = (value(more) - value(few)) / layers
    return layer, value(few)


def counts_table(few: Mapping[str, Any], more: Mapping[str, Any], layers: int) -> str:
    """A line a variant and phase: of a decoder layer and of everything else, small kernels, their bytes, and waits.

    Args:
        few: variant -> what was found with one layer, with `rows`, the responses of a step.
        more: the same with more layers; of a variant that failed in either there is no line.
        layers: how many more.
    """
    rows = []
    names = [name for name in few if "seconds" in few[name] and "seconds" in more.get(name, {})]
    for name in names:
        for phase in few[name]["seconds"]:
            cells = []
            for what, unit in UNITS.items():
                layer, in_all = per_layer(few[name], more[name], layers, phase, what)
                of_first = per_layer(few[names[0]], more[names[0]], layers, phase, what)[0]
                ratio = f"{layer / of_first:.2f}" if of_first else ""
                cells += [f"{layer / unit:.1f}", ratio, f"{(in_all - layer) / unit:.1f}"]
            rows.append([f"{name}, {phase}", *cells])
    header = ["a step's", "launches a layer", "ratio", "other", "KiB a token, layer", "ratio", "other"]
    return format_table([*header, "waits a layer", "ratio", "other"], rows)
