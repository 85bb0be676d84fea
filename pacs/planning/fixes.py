"""What to change where a phase does not fit: settings that were tried on the plan, each of which alone is enough."""

from collections.abc import Iterator
from dataclasses import replace

from pacs.planning.memory import Phase, phases
from pacs.planning.workload import Workload
from pacs.verl_keys import names
from pacs.verl_keys.workload import Trained

#: Steps in which a token budget is lowered.
BUDGET_STEP_TOKENS = 1024


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


def _unfit(work: Workload) -> set[str]:
    return {phase.name for phase in phases(work) if not phase.fits}


def _candidates(work: Workload, phase: str) -> Iterator[tuple[str, Workload]]:
    """Overrides, each with the step as it would be."""
    policy, critic, engine = work.policy, work.critic, work.engine
    if phase == "generation" and work.on_cpu:
        for gib in (2, 4, 8, 16, 32, 64):
            yield f"{names.CPU_CACHE}={gib}", replace(work, engine=replace(engine, cache_bytes=gib * 2.0**30))
    if phase == "generation":
        for percent in range(95, 10, -5):
            share = replace(engine, memory_share=percent / 100)
            yield f"{names.ENGINE_MEMORY_SHARE}={percent / 100}", replace(work, engine=share)
        for size in (2, 4, 8):
            if work.ranks % size == 0:
                wider = replace(work, engine=replace(engine, tensor_parallel=size))
                yield f"{names.ENGINE_GPUS}={size}", wider
    if phase == "update":
        for tokens in _budgets(policy.micro_batch_tokens, work):
            lower = replace(work, policy=replace(policy, micro_batch_tokens=tokens))
            yield f"{names.UPDATE_TOKENS}={tokens}", lower
    if phase == "critic update" and critic:
        for tokens in _budgets(critic.micro_batch_tokens, work):
            lower = replace(work, critic=replace(critic, micro_batch_tokens=tokens))
            yield f"{names.CRITIC_UPDATE_TOKENS}={tokens}", lower
    if work.on_cpu:
        return
    yield f"{names.FUSED_HEAD}=true", replace(work, policy=replace(policy, fused=True))
    yield f"{names.GRADIENT_CHECKPOINTING}=true", replace(work, policy=replace(policy, checkpointed=True))
    yield f"{names.ENGINE_FREES_MEMORY}=true", replace(work, engine=replace(engine, frees_memory=True))
    adam, weights = f"{names.OPTIMIZER_OFFLOAD}=true", f"{names.WEIGHTS_OFFLOAD}=true"
    yield adam, replace(work, policy=replace(policy, optimizer_offloaded=True))
    yield weights, replace(work, policy=replace(policy, weights_offloaded=True))
    away = replace(policy, optimizer_offloaded=True, weights_offloaded=True)
    yield f"{adam} {weights}", replace(work, policy=away)
    if critic:
        offloaded = replace(critic, optimizer_offloaded=True)
        yield f"{names.CRITIC_OPTIMIZER_OFFLOAD}=true", replace(work, critic=offloaded)
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
