"""A plan as text."""

from dataclasses import replace

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from pacs.base.errors import UserError
from pacs.base.tables import Table, format_table
from pacs.base.terminal import columns
from pacs.planning.devices import GIB
from pacs.planning.generation import generation
from pacs.planning.measured import basis
from pacs.planning.memory import Phase, cache_tokens, full_sequences, phases, shard_bytes, trained_bytes
from pacs.planning.plan import Plan, make_plan
from pacs.planning.timing import saved_bytes
from pacs.planning.weight_sync import sync_bytes, weight_sync_seconds
from pacs.planning.workload import Workload
from pacs.verl_keys import names
from pacs.verl_keys.workload import COMPILED_KERNELS


def outline(config: DictConfig) -> str:
    """A few lines for `pacs train --dry-run`, inside Hydra's application, which knows the option of `hardware`.

    A run that cannot be planned can be started all the same: the lines then say why there is no plan.
    """
    try:
        return short(make_plan(config, hardware=HydraConfig.get().runtime.choices.get("hardware")))
    except UserError as error:
        return f"plan: none: {error}"


def full(plan: Plan) -> str:
    """Everything: the step, memory by phase and part, the engine, time, and what to change."""
    parts = [
        heading(plan.work),
        format_table(memory_table(plan), corner="GiB a GPU" if not plan.work.on_cpu else "GiB a rank", width=columns()),
        *([saved_line(plan)] if plan.work.policy.adapters else []),
        training_line(plan),
        engine_line(plan.work),
        format_table(time_table(plan), corner="time", width=columns())
        if plan.seconds
        else "Time is not estimated for a CPU.",
        *([basis(plan.work)] if plan.seconds else []),
        traffic_line(plan.work),
        verdict(plan),
        *([gains_line(plan)] if plan.gains else []),
    ]
    return "\n\n".join(parts)


def short(plan: Plan) -> str:
    """Two lines and what does not fit."""
    fullest = max(plan.phases, key=lambda phase: phase.total)
    lines = [
        f"plan: {heading(plan.work).splitlines()[0]}",
        f"plan: the fullest phase is the {fullest.name}: {_gib(fullest.total)} of {_gib(fullest.limit)}"
        + (f"; about {plan.step_seconds:.0f} s a step (estimated, `pacs plan` has the parts)" if plan.seconds else ""),
    ]
    return "\n".join(lines if plan.fits else [*lines, verdict(plan)])


def heading(work: Workload) -> str:
    """The step in two lines."""
    policy, engine = work.policy, work.engine
    how = f" ({work.strategy})" if work.strategy else ""
    nodes = f" on {work.nodes} nodes" if work.nodes > 1 else ""
    nodes += f", and {work.engine_gpus} for vLLM alone" if work.engine_gpus else ""
    group = f" ({work.assumed_group} to a prompt in the mean, assumed)" if work.assumed_group else ""
    if work.kept_share is not None:
        group += f" (of {round(work.rows / work.kept_share):,} that are sampled, assumed)"
    if work.completions:
        group += f" (and {work.completions * work.rows:,} completions of their steps, assumed)"
    if work.asked:
        group += f" ({len(work.asked.lengths.responses):,} traces of a critic about their segments, assumed)"
    tokens = f"{work.mean_response_tokens:,.0f} in the mean, {work.mean_prompt_tokens:,.0f} of a prompt"
    adapters = f" ({policy.adapters / 1e6:,.3g} M of adapters are trained)" if policy.adapters else ""
    return (
        f"{work.algorithm}{how}, {work.architecture.parameters / 1e9:.3g} B parameters{adapters}, {work.ranks} x "
        f"{work.device.name}{nodes}\n"
        f"{work.rows:,} responses{group} of up to {work.response_tokens:,} tokens ({tokens}; {work.lengths.source}), "
        f"{work.mini_batches} updates a step, micro-batches of up to {policy.micro_batch_tokens:,} tokens, "
        f"vLLM on {engine.tensor_parallel} GPU{'s' * (engine.tensor_parallel > 1)}"
    )


def memory_table(plan: Plan) -> Table:
    """A row a part, a column a phase; the last rows have the sum, the limit and what is left."""
    parts = dict.fromkeys(part for phase in plan.phases for part in phase.parts)
    table: dict[str, dict[str, str]] = {
        part: {phase.name: f"{phase.parts[part] / GIB:.2f}" for phase in plan.phases if part in phase.parts}
        for part in parts
    }
    table["all"] = {phase.name: f"{phase.total / GIB:.2f}" for phase in plan.phases}
    table["left"] = {phase.name: f"{(phase.limit - phase.total) / GIB:.2f}" for phase in plan.phases}
    return table


def saved_line(plan: Plan) -> str:
    """What adapters save of the memory, by the same plan with all weights trained."""
    work = plan.work
    reference = "model" if work.reference == "adapters" else work.reference
    others = phases(replace(work, policy=replace(work.policy, adapters=0), reference=reference))
    ours, theirs = _update(plan.phases), _update(others)
    return (
        f"Adapters: the update has {_gib(ours)}; with all weights trained it would have {_gib(theirs)}. Gradient, "
        "Adam's moments and a kept reference are of the adapters alone."
    )


def training_line(plan: Plan) -> str:
    """Whether activations are calculated again, state leaves the GPU, and small kernels are compiled; and why."""
    work, policy = plan.work, plan.work.policy
    other = _update(phases(replace(work, policy=replace(policy, checkpointed=not policy.checkpointed))))
    on, off = ("on", "off") if policy.checkpointed else ("off", "on")
    said = [f"gradient checkpointing {on} (the update takes {_gib(_update(plan.phases))}; {off}, {_gib(other)})"]
    state = {
        f"weights ({_gib(shard_bytes(policy))})": policy.weights_offloaded,
        f"Adam ({_gib(2 * trained_bytes(policy))})": policy.optimizer_offloaded,
    }
    for offloaded, why in (
        () if work.on_cpu else ((True, "on: {} leave the GPU to vLLM"), (False, "off: {} stay there"))
    ):
        if parts := [part for part, away in state.items() if away is offloaded]:
            said.append(f"offload {why.format(' and '.join(parts))}")
    setting = f"{names.EXTERNAL_LIBRARY}={COMPILED_KERNELS}"
    compiled = "small kernels compiled: in bf16 they round otherwise (what it saves was not measured, and not counted)"
    left = f"small kernels not compiled: in bf16 it would change rounding ({setting} compiles them)"
    said.append(compiled if policy.compiled else left)
    return f"Training: {'; '.join(said)}."


def time_table(plan: Plan) -> Table:
    """Seconds of each phase, and of the step."""
    times, step = plan.seconds | {"step": plan.step_seconds}, plan.step_seconds
    return {name: {"seconds": f"{value:.1f}", "share": f"{value / step:.3f}"} for name, value in times.items()}


def engine_line(work: Workload) -> str:
    """How many sequences vLLM has at once, and how fast it is."""
    line = (
        f"vLLM: a cache of {cache_tokens(work):,} tokens an engine: {full_sequences(work):,} sequences of full length "
        f"at once (limit {work.engine.max_sequences:,})"
    )
    if not work.device.flops:
        return line
    done = generation(work)
    if done.waiting:
        synchronous = generation(replace(work, ahead=0))
        return (
            f"{line}. Partial rollouts: a step decodes {done.waiting.steps:,.0f} tokens a sequence and takes "
            f"{done.seconds:.1f} s of generation; waiting for every response would take {synchronous.seconds:.1f} s. "
            f"A prompt is {done.waiting.staleness:.2f} steps old in the mean (estimated)"
        )
    return (
        f"{line}. Up to {done.at_once:,} of these lengths at once, {done.tokens_per_second:,.0f} tokens/s in all; "
        f"engines wait {done.idle:.1%} of their time for the last (estimated)"
    )


def traffic_line(work: Workload) -> str:
    """Bytes that go to vLLM and to disk, and where the time of the former goes."""
    line = f"Weight sync: {_gib(sync_bytes(work))} gathered by each rank"
    if work.device.flops:
        parts = weight_sync_seconds(work)
        line += " (" + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items()) + ", estimated)"
    line += f". A checkpoint: {_gib(saved_bytes(work))}"
    kept = work.strategy is not None and work.reference in ("model", "adapters")
    return f"{line}{', and the reference after a reset' * kept}."


def run_hours(plan: Plan) -> float | None:
    """Hours of all steps of the run, without validation."""
    return plan.work.steps * plan.step_seconds / 3600 if plan.work.steps and plan.seconds else None


def verdict(plan: Plan) -> str:
    """Whether it fits; of each phase that does not, what to change."""
    if plan.fits:
        hours = run_hours(plan)
        if hours is None:
            return "It fits."
        gpu_hours = hours * plan.work.gpus
        return f"It fits. {plan.work.steps} steps: about {hours:,.0f} hours, {gpu_hours:,.0f} GPU hours (estimated)."
    return "\n".join(_problem(phase, plan.mends[phase.name]) for phase in plan.phases if not phase.fits)


def gains_line(plan: Plan) -> str:
    """What would make a step faster and still fits."""
    found = ", ".join(f"{setting} ({seconds:.1f} s)" for setting, seconds in plan.gains.items())
    return f"Each of these fits too, with room, and makes a step faster (estimated): {found}."


def _problem(phase: Phase, mends: list[str]) -> str:
    what = phase.obstacle or f"{_gib(phase.total)} > {_gib(phase.limit)}"
    mend = ", or ".join(mends) or "no single setting is enough: take a smaller model or more GPUs"
    return f"{phase.name} does not fit: {what}: {mend}"


def _update(planned: list[Phase]) -> float:
    return next(phase.total for phase in planned if phase.name == "update")


def _gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB / 10 else f"{count / 2**20:.1f} MiB"
