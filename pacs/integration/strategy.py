"""How a step's gradient is taken: through whole groups (`grouped`), or after scoring them (`cached`)."""

from typing import Any, Literal, NamedTuple

from omegaconf import DictConfig

from pacs.integration.schema import method_in
from pacs.verl_keys.config import data_parallel_size, longest_sequence_tokens, most_responses, token_budget

BUDGET = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu times ulysses_sequence_parallel_size"


class Choice(NamedTuple):
    """A strategy and why it was taken."""

    strategy: Literal["grouped", "cached"]
    reason: str


def outlook(config: DictConfig) -> str:
    """What will be taken, as far as it is known before the run: a line for `--dry-run`."""
    if config.trainer.v1.trainer_mode != "pacs":
        mode, budget = config.trainer.v1.trainer_mode, token_budget(config)
        return f"{mode}: verl's own advantages and loss, {budget} tokens a micro-batch ({BUDGET})"
    group = most_responses(config) * longest_sequence_tokens(config)
    choice = choose(config, group)
    if wanted(config) == "auto" and choice.strategy == "cached" and why_not_grouped(config, 0) is None:
        fit = f"{token_budget(config)} tokens ({BUDGET}), else cached; a group may have {group}"
        return f"update strategy auto: grouped in steps whose groups all fit {fit}"
    return f"update strategy {choice.strategy}: {choice.reason}"


def choose(config: DictConfig, group_tokens: int) -> Choice:
    """The strategy for groups of at most `group_tokens` tokens, prompts included.

    `method.update.strategy=auto` takes `grouped`, which needs no further pass, where a mini-batch deals out whole
    groups to the ranks and a group fits a micro-batch; else `cached`.
    """
    strategy = wanted(config)
    if strategy != "auto":
        return Choice(strategy, f"method.update.strategy={strategy}")
    obstacle = why_not_grouped(config, group_tokens)
    if obstacle is None:
        return Choice("grouped", f"every group, of up to {group_tokens} tokens, fits a micro-batch")
    return Choice("cached", obstacle)


def wanted(config: DictConfig) -> Any:
    """`method.update.strategy`; as an attribute, `update` would be the mapping's method."""
    return config.method["update"].strategy


def why_not_grouped(config: DictConfig, group_tokens: int) -> str | None:
    """What keeps groups of `group_tokens` tokens from being whole in a micro-batch, or whole groups from being enough.

    None if nothing does.
    """
    if (method := method_in(config)).whole_mini_batch:
        return f"the loss of {type(method).__name__} with these settings depends on its whole mini-batch"
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    ranks, prompts = data_parallel_size(config), actor.ppo_mini_batch_size
    if prompts % ranks:
        dealt = f"cannot be dealt out to {ranks} data-parallel ranks in whole groups"
        return f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts} prompts {dealt}"
    if actor.use_dynamic_bsz:
        budget = token_budget(config)
        if group_tokens > budget:
            return f"a group has up to {group_tokens} tokens, and a micro-batch holds {budget} ({BUDGET})"
    elif (rows := actor.ppo_micro_batch_size_per_gpu) % n:
        key = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
        return f"{key}={rows} responses are not a multiple of rollout.n={n}"
    return None
