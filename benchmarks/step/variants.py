"""What `step_against_plan.py --compare` tries, one after another, and the tables of its results."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


#: The first is what the others are compared with. What liger-kernel changes stays, so it is last.
VARIANTS = {
    "before": Variant(asks_in_every_layer=True),
    "default": Variant(),
    "no entropy": Variant(entropy=False),
    "not checkpointed": Variant(checkpointed=False),
    "compiled": Variant(compiled=True),
    "compiled, not checkpointed": Variant(compiled=True, checkpointed=False),
    "liger": Variant(liger=True),
    "liger, not checkpointed": Variant(liger=True, checkpointed=False),
}


def seconds_table(variants: Mapping[str, Any]) -> str:
    """A line a variant: median seconds of each phase, and their ratio to the first variant's."""
    first = next(iter(variants.values())).get("seconds", {})  # none where memory ran out
    phases = next((list(found["seconds"]) for found in variants.values() if "seconds" in found), [])
    rows = []
    for name, found in variants.items():
        if "error" in found:
            rows.append([name, *[""] * (2 * len(phases)), found["error"]])
            continue
        cells = []
        for phase in phases:
            ours = statistics.median(found["seconds"][phase])
            cells += [f"{ours:.3f}", f"{ours / statistics.median(first[phase]):.2f}" if first else ""]
        step = next(reversed(found["counted"].values())).get("step")
        on_gpu = f"{step['launches']:,.0f}, {step['busy_seconds']:.3f} s busy" if step else ""
        rows.append([name, *cells, on_gpu])
    return format_table(["", *[cell for phase in phases for cell in (phase, "ratio")], "kernels"], rows)


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
        more: the same with more layers; of a variant that was cut off here there is no line.
        layers: how many more.
    """
    rows = []
    for name in [name for name in few if name in more]:
        for phase in few[name]["seconds"]:
            cells = []
            for what, unit in UNITS.items():
                layer, in_all = per_layer(few[name], more[name], layers, phase, what)
                first = next(iter(few))
                of_first = per_layer(few[first], more[first], layers, phase, what)[0]
                ratio = f"{layer / of_first:.2f}" if of_first else ""
                cells += [f"{layer / unit:.1f}", ratio, f"{(in_all - layer) / unit:.1f}"]
            rows.append([f"{name}, {phase}", *cells])
    header = ["a step's", "launches a layer", "ratio", "other", "KiB a token, layer", "ratio", "other"]
    return format_table([*header, "waits a layer", "ratio", "other"], rows)
