"""What values of steps cannot go with is refused, each by its setting and the mend."""

import pytest
from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.integration.checks.vine import vine_problems

CONFIG = """
trainer: {v1: {trainer_mode: pacs}}
actor_rollout_ref:
  rollout:
    n: 8
    multi_turn: {enable: false}
    agent: {agent_loop_manager_class: null, default_agent_loop: single_turn_agent}
reward: {reward_model: {enable: false, enable_resource_pool: false}}
method: {name: vineppo}
run: {rollouts: {dars: {schedule: null}, vine: {completions: 9, delimiter: "\\n\\n", least_tokens: 1, most_steps: 25}}}
"""
ROLLOUT = "actor_rollout_ref.rollout"


def problems(**changes: object) -> list[str]:
    config = OmegaConf.create(CONFIG)
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    return list(vine_problems(config))


def test_what_it_needs_is_there() -> None:
    assert problems() == []
    # A reward model with a pool of its own grades within the agent loop.
    assert problems(**{"reward.reward_model": {"enable": True, "enable_resource_pool": True}}) == []
    # Another check says what is wrong with a method that does not exist.
    assert problems(**{"method.name": "vineppoo"}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trainer.v1.trainer_mode": "grpo"}, ["completions=9", "--config-name vineppo"]),
        ({"method.name": "maxrl"}, ["completions=9", "--config-name vineppo"]),
        ({"run.rollouts.dars.schedule": "equal"}, ["completions=9", "run.rollouts.dars.schedule=equal", "leave one"]),
        ({f"{ROLLOUT}.multi_turn.enable": True}, [f"{ROLLOUT}.multi_turn.enable=false"]),
        ({f"{ROLLOUT}.agent.default_agent_loop": "tool_agent"}, ["default_agent_loop=single_turn_agent"]),
        ({"reward.reward_model.enable": True}, ["reward.reward_model.enable_resource_pool=true"]),
        ({f"{ROLLOUT}.agent.agent_loop_manager_class": "my.Manager"}, ["class=my.Manager", "set it to null"]),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = problems(**changes)
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_what_nothing_would_read_is_refused() -> None:
    off = {"run.rollouts.vine.completions": None}
    assert problems(**off) == []
    for name, value in (("delimiter", "."), ("least_tokens", 4), ("most_steps", 3)):
        (problem,) = problems(**off, **{f"run.rollouts.vine.{name}": value})
        assert problem.startswith(f"run.rollouts.vine.{name}={value} is not read without run.rollouts.vine.completions")


@pytest.mark.parametrize("completions", ["abc", [9]])
def test_no_number_of_completions_is_refused_in_words(completions: object) -> None:
    """By the section's own check; no other calculates with it, or says of it that nothing reads it."""
    settings = {"run.rollouts.vine.completions": completions, "run.rollouts.vine.train_completions": True}
    assert problems(**settings, **{"method.name": "pacs"}) == []
    given = [f"{key}={str(value).lower()}" for key, value in settings.items()]
    with pytest.raises(UserError, match=r"- run\.rollouts\.vine\.completions=") as refused:
        compose_run("pacs", ["recipe=arithmetic", *given])
    assert str(refused.value).count("\n") == 1
