"""What to change where a phase does not fit: settings that were tried on the plan, each of which alone is enough."""

from collections.abc import Iterator, Sequence

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.planning.memory import Phase, phases
from pacs.planning.workload import Workload, read_workload

#: Steps in which a token budget is lowered.
BUDGET_STEP_TOKENS = 1024


def find_mends(config: DictConfig, work: Workload, phase: Phase) -> list[str]:
    """Overrides `key=value` with which the phase fits, and no other stops to.

    Args:
        config: of the plan.
        work: its workload.
        phase: one that does not fit.
    """
    before = {other.name for other in phases(work) if not other.fits}
    found: list[str] = []
    for candidate in _candidates(config, work, phase.name):
        # Of several values of a key the first, which changes the least.
        if any(candidate.split("=")[0] == mend.split("=")[0] for mend in found):
            continue
        changed = _with(config, candidate.split())
        after = {other.name for other in phases(read_workload(changed, work.device)) if not other.fits}
        if phase.name not in after and after <= before:
            found.append(candidate)
    return found


def _candidates(config: DictConfig, work: Workload, phase: str) -> Iterator[str]:
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    if phase in ("generation", "weight sync"):
        yield from (f"{rollout}.gpu_memory_utilization={share / 100}" for share in range(95, 10, -5))
        yield from (f"{rollout}.tensor_model_parallel_size={size}" for size in (2, 4, 8) if work.ranks % size == 0)
    if phase == "update":
        yield from _budgets(f"{actor}.ppo_max_token_len_per_gpu", work.policy.micro_batch_tokens, work)
    if phase == "critic update" and work.critic:
        yield from _budgets("critic.ppo_max_token_len_per_gpu", work.critic.micro_batch_tokens, work)
    if phase in ("reference pass", "policy pass"):
        yield from _budgets(f"{rollout}.log_prob_max_token_len_per_gpu", work.policy.forward_tokens, work)
    if not work.on_cpu:
        yield "actor_rollout_ref.model.use_fused_kernels=true"
        yield "actor_rollout_ref.model.enable_gradient_checkpointing=true"
        yield f"{rollout}.free_cache_engine=true"
        yield f"{actor}.fsdp_config.optimizer_offload=true"
        yield f"{actor}.fsdp_config.param_offload=true"
        if work.critic:
            yield "critic.fsdp.optimizer_offload=true"
        yield f"{actor}.fsdp_config.optimizer_offload=true {actor}.fsdp_config.param_offload=true"
    yield from (f"trainer.nnodes={work.nodes * factor}" for factor in (2, 4, 8))


def _budgets(key: str, tokens: int, work: Workload) -> Iterator[str]:
    """Lower budgets that still hold the longest sequence of the ranks that share it."""
    least = -(-work.row_tokens // work.sequence_parallel)
    highest = (tokens - 1) // BUDGET_STEP_TOKENS * BUDGET_STEP_TOKENS
    yield from (f"{key}={budget}" for budget in range(highest, least - 1, -BUDGET_STEP_TOKENS))


def _with(config: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """A copy with other values."""
    changed = config.copy()
    with open_dict(changed):
        for key, value in (override.split("=") for override in overrides):
            OmegaConf.update(changed, key, yaml.safe_load(value))
    return changed
