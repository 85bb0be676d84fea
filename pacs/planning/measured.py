"""Steps that were measured on a GPU, beside which a plan's times are shown. The list grows with each measurement."""

from dataclasses import dataclass, field
from itertools import chain

from pacs.planning.architecture import PUBLISHED
from pacs.planning.devices import GPUS
from pacs.planning.workload import Workload

#: A model of at most so many times the parameters, or no fewer than one in so many, counts as one of the same size.
SAME_SIZE = 1.5


@dataclass(frozen=True)
class MeasuredStep:
    """Phases of a step whose lengths are known.

    Attributes:
        gpu: a key of `pacs.planning.devices.GPUS`; there was one of them.
        model: of `pacs.planning.architecture.PUBLISHED`.
        prompts, mini_batch, responses: of a step, of an update, and to each prompt.
        prompt_tokens, response_tokens: of each, all alike.
        seconds: phase -> time.
        how: what else mattered.
        gib: phase -> memory: of the whole GPU in generation, of the training process's tensors in the update.
        start_seconds: from the command until vLLM is ready.
    """

    gpu: str
    model: str
    prompts: int
    mini_batch: int
    responses: int
    prompt_tokens: int
    response_tokens: int
    seconds: dict[str, float]
    how: str
    gib: dict[str, float] = field(default_factory=dict)
    start_seconds: float | None = None


#: docs/scaling.md has the machines and commands.
MEASURED = (
    MeasuredStep(
        "h200", "Qwen/Qwen3-0.6B", prompts=16, mini_batch=16, responses=8, prompt_tokens=64, response_tokens=1024,
        seconds={"generation": 5.7, "update": 4.4, "weight sync": 0.45},
        how="vLLM 0.24 with CUDA graphs; third step",
        gib={"generation": 114.9, "update": 18.3},
        start_seconds=142,
    ),
    MeasuredStep(
        "h200", "Qwen/Qwen3-0.6B", prompts=8, mini_batch=4, responses=8, prompt_tokens=256, response_tokens=2048,
        seconds={"reference pass": 1.390, "policy pass": 1.209, "update": 4.960},
        how="flash-attention 2, the Triton head, bf16 state",
    ),
)  # fmt: skip


def near(work: Workload) -> list[MeasuredStep]:
    """What was measured on the same GPU with a model of the same size."""
    return [
        step
        for step in MEASURED
        if GPUS[step.gpu].name == work.device.name
        and 1 / SAME_SIZE <= work.architecture.parameters / PUBLISHED[step.model].parameters <= SAME_SIZE
    ]


def basis(work: Workload) -> str:
    """What the times of a plan rest on, and what is not known."""
    steps = near(work)
    phases = list(dict.fromkeys(chain.from_iterable(step.seconds for step in steps)))
    size = f"{work.architecture.parameters / 1e9:.3g} B parameters on an {work.device.name}"
    if not steps:
        return (
            f"Times are estimates: nothing was measured at {size} (docs/scaling.md has what was, at what size). How "
            "long a start takes is not known."
        )
    starts = [f"{step.start_seconds:.0f} s" for step in steps if step.start_seconds]
    start = f" A start took {', '.join(starts)} until vLLM was ready." if starts else ""
    several = " How ranks wait for each other was not measured." if work.ranks > 1 else ""
    return (
        f"Times are estimates, brought to the rates measured at {size}: {', '.join(phases)} (docs/scaling.md); the "
        f"others rest on assumptions alone.{several}{start}"
    )
