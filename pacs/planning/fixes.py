"""Settings that were tried on the plan: what makes a phase fit, and what makes a step faster and still fits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pacs.planning.calibration import calibrated
from pacs.planning.memory import Phase, phases
from pacs.planning.timing import step_seconds
from pacs.planning.workload import Workload
from pacs.verl_keys import names
from pacs.verl_keys.workload import Trained

#: Steps in which a token budget is lowered.
BUDGET_STEP_TOKENS = 1024
#: Of the memory, what a phase may need that a faster setting makes larger: a plan's memory is trusted to 15%.
SURE = 0.85


def find_mends(work: Workload, phase: Phase) -> list[str]:
    """Overrides `key=value` (or two that belong together) with which the phase fits, and no other stops to.

    Of several values of a key it is the first that is tried, which changes the least.

    Args:
        work: the step.
        phase: one that does not fit.
    """
    before = _unfit(work)
    found: dict[str, str] = {}
    for override, changed in _candidates(work, phase.name):
        keys = " ".join(part.split("=")[0] for part in override.split())
        if keys not in found:
            after = _unfit(changed)
            if phase.name not in after and after <= before:
                found[keys] = override
    return list(found.values())


def find_gains(work: Workload) -> dict[str, float]:
    """Overrides `key=value` with which a step is faster and every phase still fits, for sure -> seconds of a step."""
    before = {phase.name: phase.total for phase in phases(work)}
    offered = {
        names.GRADIENT_CHECKPOINTING: replace(work, policy=replace(work.policy, checkpointed=False)),
        names.WEIGHTS_OFFLOAD: replace(work, policy=replace(work.policy, weights_offloaded=False)),
        names.OPTIMIZER_OFFLOAD: replace(work, policy=replace(work.policy, optimizer_offloaded=False)),
    }
    gains = {}
    for key, changed in offered.items():
        sure = all(
            phase.fits and phase.total <= max(SURE * phase.limit, before[phase.name]) for phase in phases(changed)
        )
        gain = step_seconds(work, calibrated(work)) - step_seconds(changed, calibrated(changed))
        if sure and gain > 0:
            gains[f"{key}=false"] = gain
    return gains


def _unfit(work: Workload) -> set[str]:
    return {phase.name for phase in phases(work) if not phase.fits}


def _candidates(work: Workload, phase: str) -> Iterator[tuple[str, Workload]]:
    """Overrides, each with the step as it would be."""

    def changed(part: Literal["policy", "critic", "engine"], **settings: Any) -> Workload:
        return replace(work, **{part: replace(getattr(work, part), **settings)})

    if phase == "generation" and work.on_cpu:
        for gib in (2, 4, 8, 16, 32, 64):
            yield f"{names.CPU_CACHE}={gib}", changed("engine", cache_bytes=gib * 2.0**30)
    if phase == "generation":
        for percent in range(95, 10, -5):
            yield f"{names.ENGINE_MEMORY_SHARE}={percent / 100}", changed("engine", memory_share=percent / 100)
        for size in (2, 4, 8):
            if work.ranks % size == work.engine_gpus % size == 0:
                yield f"{names.ENGINE_GPUS}={size}", changed("engine", tensor_parallel=size)
    if phase == "update":
        for tokens in _budgets(work.policy.micro_batch_tokens, work):
            yield f"{names.UPDATE_TOKENS}={tokens}", changed("policy", micro_batch_tokens=tokens)
    if phase == "critic update" and work.critic:
        for tokens in _budgets(work.critic.micro_batch_tokens, work):
            yield f"{names.CRITIC_UPDATE_TOKENS}={tokens}", changed("critic", micro_batch_tokens=tokens)
    if work.on_cpu:
        return
    yield f"{names.FUSED_HEAD}=true", changed("policy", fused=True)
    yield f"{names.GRADIENT_CHECKPOINTING}=true", changed("policy", checkpointed=True)
    yield f"{names.ENGINE_FREES_MEMORY}=true", changed("engine", frees_memory=True)
    adam, weights = f"{names.OPTIMIZER_OFFLOAD}=true", f"{names.WEIGHTS_OFFLOAD}=true"
    yield adam, changed("policy", optimizer_offloaded=True)
    yield weights, changed("policy", weights_offloaded=True)
    yield f"{adam} {weights}", changed("policy", optimizer_offloaded=True, weights_offloaded=True)
    if work.critic:
        yield f"{names.CRITIC_OPTIMIZER_OFFLOAD}=true", changed("critic", optimizer_offloaded=True)
    for factor in (2, 4, 8):
        yield f"{names.NODES}={work.nodes * factor}", _on_more(work, factor)


def _budgets(tokens: int, work: Workload) -> Iterator[int]:
    """Lower budgets that still hold the longest sequence of the ranks that share it."""
    least = -(-work.row_tokens // work.sequence_parallel)
    highest = (tokens - 1) // BUDGET_STEP_TOKENS * BUDGET_STEP_TOKENS
    yield from range(highest, least - 1, -BUDGET_STEP_TOKENS)


def _on_more(work: Workload, factor: int) -> Workload:
    """On so many times the nodes; a model that all ranks share is then shared by all of these."""

    def spread(model: Trained) -> Trained:
        return replace(model, shards=model.shards * factor) if model.shards == work.ranks else model

    critic = spread(work.critic) if work.critic else None
    nodes, ranks = work.nodes * factor, work.ranks * factor
    return replace(work, nodes=nodes, ranks=ranks, policy=spread(work.policy), critic=critic)
