"""In docs/scaling.md partial rollouts by plan; at its end the plan of the paper's runs, and what it assumes."""

from collections.abc import Iterator

from pacs.base.tables import format_table
from pacs.composing import compose_run
from pacs.planning.assumptions import ASSUMPTIONS
from pacs.planning.devices import GIB, GPUS
from pacs.planning.lengths import Sample
from pacs.planning.measured import MEASURED, MeasuredStep
from pacs.planning.plan import Plan, make_plan
from pacs.planning.plan_text import run_hours
from pacs.planning.timing import seconds as by_formulas
from pacs.verl_keys import names

ALGORITHMS = ("pacs", "grpo", "ppo")
#: Each with the steps of the paper.
MODELS = {"Qwen/Qwen3-4B": 120, "Qwen/Qwen3-8B": 320}
NODES = (1, 8)
AHEAD = "run.rollouts.partial.ahead"

HEAD = """\
## The plan of the paper's runs

`python -m tests.planning.page` prints these estimates, which assume response lengths. Each phase
fits. Hours are for the paper's 120 steps (4B) and 320 (8B).
"""
MEASURED_HEAD = """\
### Measured rates

Measured on one GPU. For generation, tokens/s counts generated tokens; for passes and updates it
also counts prompts. For the same GPU and a model of 2/3 to 1.5 times the size, a plan scales the
formulas' times by the mean measured ratio. Add measurements to `pacs/planning/measured.py`.
"""
ASSUMED = """\
## What is assumed

The names are those in `pacs/planning/assumptions.py`. `hardware=` selects the GPU. GPU numbers are
from NVIDIA's data sheets, except memory, which is what torch reports.
"""


def partial_rollouts() -> str:
    """What a step of Qwen3-8B takes with partial rollouts on the same GPUs, as Markdown."""
    head = [
        "GPUs",
        "mean response",
        "a step that waits for all",
        "`ahead=0.5`",
        "`ahead=1`",
        "`ahead=1`, half for vLLM",
    ]
    lines = [" | ".join(head), "|".join(["---", *["---:"] * (len(head) - 1)])]
    for nodes in NODES:
        everything = [f"{names.NODES}={nodes}"]
        engines = {"nnodes": max(1, nodes // 2), "n_gpus_per_node": 8 if nodes > 1 else 4}
        half = [f"actor_rollout_ref.rollout.{name}={value}" for name, value in engines.items()]
        half += [f"trainer.{name}={value}" for name, value in engines.items()]
        ways = (everything, [*everything, f"{AHEAD}=0.5"], [*everything, f"{AHEAD}=1"], [*half, f"{AHEAD}=1"])
        configs = [compose_run("pacs", ["recipe=qwen3_8b", *way])[0] for way in ways]
        for mean in (1000, 4096):
            plans = [make_plan(config, hardware="h200x8", mean_response_tokens=mean) for config in configs]
            cells = [f"{plan.step_seconds:,.0f} s, generation {plan.seconds['generation']:,.0f}" for plan in plans]
            lines.append(" | ".join([str(8 * nodes), f"{mean:,}", *cells]))
    return "\n".join(lines) + "\n"


def tables() -> str:
    """What ends the page, as Markdown."""
    return "\n".join(
        [
            HEAD,
            _block(((title, _row(plan)) for title, plan in _plans()), corner="run"),
            MEASURED_HEAD,
            _block(_measured(), corner="GPU, model, rows x tokens, phase"),
            ASSUMED,
            _block(_assumed(), corner="assumption"),
            _block(_gpus(), corner="GPU"),
        ]
    )


def planned(algorithm: str, model: str, nodes: int = 1, hardware: str = "h200x8") -> Plan:
    """The paper's run on so many nodes of eight GPUs.

    Raises:
        ValueError: a phase does not fit, and the page says that all do.
    """
    overrides = [
        "recipe=qwen3_8b",
        f"hardware={hardware}",
        f"{names.POLICY_PATH}={model}",
        f"{names.NODES}={nodes}",
        f"{names.TOTAL_STEPS}={MODELS[model]}",
    ]
    plan = make_plan(compose_run(algorithm, overrides)[0], hardware=hardware)
    if not plan.fits:
        raise ValueError(f"{algorithm} with {' '.join(overrides)} does not fit")
    return plan


def planned_beside(step: MeasuredStep) -> Plan:
    """The plan of a step that was measured."""
    tokens = step.prompts * step.responses * (step.prompt_tokens + step.response_tokens)
    overrides = [
        "recipe=qwen3_8b",
        f"hardware={step.gpu}x1",
        f"{names.POLICY_PATH}={step.model}",
        "method.update.strategy=cached",
        f"{names.TRAINED_DTYPE}=bf16",
        f"{names.PROMPTS_PER_STEP}={step.prompts}",
        f"{names.PROMPTS_PER_UPDATE}={step.mini_batch}",
        f"{names.RESPONSES_PER_PROMPT}={step.responses}",
        f"{names.LONGEST_PROMPT}={step.prompt_tokens}",
        f"{names.LONGEST_RESPONSE}={step.response_tokens}",
        f"{names.UPDATE_TOKENS}={tokens}",
    ]
    config, hardware = compose_run("pacs_paper", overrides)
    lengths = Sample((step.prompt_tokens,), (step.response_tokens,), "measured")
    return make_plan(config, hardware=hardware, lengths=lengths)


def _plans() -> Iterator[tuple[str, Plan]]:
    """Title and plan of each run of the table."""
    for model in MODELS:
        for algorithm in ALGORITHMS:
            for nodes in NODES:
                yield f"{_short(model)}, {8 * nodes} H200, {algorithm}", planned(algorithm, model, nodes)
    model = "Qwen/Qwen3-8B"
    for gpu in GPUS:
        if gpu != "h200":
            yield f"{_short(model)}, 8 {GPUS[gpu].name}, pacs", planned("pacs", model, hardware=f"{gpu}x8")


def _measured() -> Iterator[tuple[str, dict[str, str]]]:
    for step in MEASURED:
        plan = planned_beside(step)
        formulas = by_formulas(plan.work)
        for phase, seconds in step.seconds.items():
            row = {"seconds": f"{seconds:.2f}", "formulas": f"{formulas[phase]:.2f}"}
            row["planned"] = f"{plan.seconds[phase]:.2f}"
            if phase != "weight sync":
                counted = step.response_tokens + (0 if phase == "generation" else step.prompt_tokens)
                row["tokens/s"] = f"{step.prompts * step.responses * counted / seconds:,.0f}"
            rows = f"{step.prompts * step.responses} x {step.prompt_tokens + step.response_tokens:,}"
            yield f"{GPUS[step.gpu].name}, {_short(step.model)}, {rows}, {phase}", row | {"with": step.how}


def _short(model: str) -> str:
    return model.rpartition("/")[2]


def _row(plan: Plan) -> dict[str, str]:
    fullest = max(phase.total for phase in plan.phases)
    sums = dict.fromkeys(("generation", "passes", "updates"), 0.0)
    for phase, value in plan.seconds.items():
        kind = "passes" if phase.endswith("pass") else "updates" if phase.endswith("update") else phase
        if kind in sums:
            sums[kind] += value
    hours = run_hours(plan) or 0.0
    return {
        "most GiB a GPU": f"{fullest / GIB:.1f}",
        **{f"{kind}, s": f"{value:.0f}" for kind, value in sums.items()},
        "step, s": f"{plan.step_seconds:.0f}",
        "hours": f"{hours:,.0f}",
        "GPU hours": f"{hours * plan.work.gpus:,.0f}",
    }


def _assumed() -> Iterator[tuple[str, dict[str, str]]]:
    for name, assumed in ASSUMPTIONS.items():
        large = assumed.unit == "bytes" and assumed.value >= 0.1 * GIB
        size = f"{assumed.value / GIB:g} GiB" if large else f"{assumed.value:g} {assumed.unit}"
        yield name, {"value": size, "what": assumed.what}


def _gpus() -> Iterator[tuple[str, dict[str, str]]]:
    for gpu in GPUS.values():
        speeds = {
            "of it TB/s": gpu.bytes_per_second / 1e12,
            "bf16, TFLOPS": gpu.flops / 1e12,
            "between GPUs, GB/s": gpu.link_bytes_per_second / 1e9,
            "to the host, GB/s": gpu.host_bytes_per_second / 1e9,
        }
        memory = {"memory, GiB": f"{gpu.memory_bytes / GIB:.1f}"}
        yield gpu.name, memory | {name: f"{speed:g}" for name, speed in speeds.items()}


def _block(rows: Iterator[tuple[str, dict[str, str]]], corner: str) -> str:
    return f"```text\n{format_table(dict(rows), corner=corner)}\n```\n"


if __name__ == "__main__":
    print(partial_rollouts(), tables(), sep="\n", end="")
