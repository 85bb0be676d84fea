"""What a critic's section is checked for: as the policy's is, and what its worker would not read."""

from functools import cache

import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.batch import engine_problems
from pacs.integration.checks.bounds import value_problems
from pacs.integration.checks.critic_section import UNREAD, of_critic
from pacs.integration.checks.genac import genac_problems
from pacs.integration.checks.run import ConfigError, check_run
from pacs.verl_keys.config import critic_section

ARITHMETIC = "recipe=arithmetic"


@cache
def composed() -> DictConfig:
    """As it is before a start sets what it needs."""
    config, _ = compose_run("genac", [ARITHMETIC])
    OmegaConf.update(config, "actor_rollout_ref.rollout.agent.agent_loop_manager_class", None)
    return config


def said(*overrides: str) -> str:
    """What is wrong with a run of GenAC; nothing: "" """
    config = composed().copy()
    OmegaConf.set_struct(config, False)
    config.merge_with_dotlist(list(overrides))
    try:
        check_run(config)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("critic.actor.optim.lr=-1", "use a number of at least 0"),
        ("critic.actor.optim.betas=[2,3]", "two numbers of at least 0 and below 1"),
        ("critic.actor.optim.optimizer=AdmaW", "Did you mean AdamW?"),
        ("critic.actor.strategy=fsdp", "use fsdp2"),
        ("critic.actor.fsdp_config.model_dtype=fp99", "use fp32, bf16 or fp16"),
        ("critic.rollout.temperature=0", "use a number above 0"),
        ("critic.rollout.seed=-3", "use a whole number from 0"),
        ("critic.rollout.dtype=int8", "use one of auto"),
        ("critic.rollout.gpu_memory_utilization=1.5", "vLLM's share of a GPU"),
        ("critic.rollout.tensor_model_parallel_size=3", "use a number that divides them"),
        ("critic.rollout.enforce_eager=maybe", "use true or false"),
        ("critic.rollout.max_num_seqs=0", "a whole number of at least 1"),
        ("critic.rollout.top_k=few", "use a number, as -1"),
    ],
)
def test_what_is_refused_of_the_policy_is_refused_of_the_critic(given: str, words: str) -> None:
    key = f"genac.{given.partition('=')[0]}"
    found = said(f"genac.{given}")
    assert key in found
    assert words in found
    assert "actor_rollout_ref." not in found


def test_what_is_wrong_with_both_is_said_once() -> None:
    found = said("actor_rollout_ref.rollout.temperature=0")
    assert "actor_rollout_ref.rollout.temperature=0" in found
    assert "genac.critic" not in found


@pytest.mark.parametrize("key", UNREAD)
def test_what_the_critic_does_not_read_is_refused(key: str) -> None:
    below = OmegaConf.select(composed().actor_rollout_ref, key)
    name = f"genac.critic.{key}" + (f".{next(iter(below))}" if OmegaConf.is_dict(below) else "")
    assert f"{name}=1 is not read" in said(f"{name}=1") or "use true or false" in said(f"{name}=1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("run.rlpr.std_filter.share=0.5", "the critic is told the pass rate of all responses"),
        ("run.rlpr.answer_weight=1.0", "the critic's segments are of the sampled answer"),
    ],
)
def test_what_changes_groups_or_answers_behind_the_critic_is_refused(given: str, words: str) -> None:
    found = said(given)
    assert f"with {given} is not built ({words}" in found
    assert "leave one of them out" in found


def test_a_sound_critic_is_left_alone() -> None:
    config = composed().copy()
    OmegaConf.update(config, "genac.critic.actor.optim.weight_decay", 0, force_add=True)
    assert critic_section(config).actor.optim.weight_decay == 0
    for check in (value_problems, engine_problems):
        assert list(of_critic(check, config)) == []
    assert list(genac_problems(config)) == []
    other, _ = compose_run("pacs", [ARITHMETIC])
    assert list(of_critic(value_problems, other)) == []
