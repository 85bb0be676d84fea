"""What a second stage of rollouts cannot go with is refused, each by its setting and the mend."""

import pytest
from omegaconf import OmegaConf

from pacs.integration.checks.dars import dars_problems

CONFIG = """
trainer: {v1: {trainer_mode: pacs}}
actor_rollout_ref:
  actor: {use_dynamic_bsz: true}
  rollout: {n: 8, agent: {agent_loop_manager_class: null}}
reward: {reward_model: {enable: false, enable_resource_pool: false}}
run: {rollouts: {dars: {schedule: equal, most: 32}}}
"""
ROLLOUT = "actor_rollout_ref.rollout"


def problems(**changes: object) -> list[str]:
    config = OmegaConf.create(CONFIG)
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    return list(dars_problems(config))


def test_what_it_needs_is_there() -> None:
    assert problems() == []
    # A reward model with a pool of its own grades within the agent loop.
    assert problems(**{"reward.reward_model": {"enable": True, "enable_resource_pool": True}}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trainer.v1.trainer_mode": "grpo"}, ["schedule=equal", "grpo", "pacs.algorithm.aggregated.DrGrpo"]),
        ({"run.rollouts.dars.most": 8}, ["run.rollouts.dars.most=8", f"{ROLLOUT}.n=8", "raise it"]),
        ({"run.rollouts.dars.most": 7}, ["run.rollouts.dars.most=7", "raise it"]),
        ({f"{ROLLOUT}.n": 1}, [f"{ROLLOUT}.n=1", "sample more"]),
        ({"actor_rollout_ref.actor.use_dynamic_bsz": False}, ["schedule=equal", "use_dynamic_bsz=true"]),
        ({"reward.reward_model.enable": True}, ["reward.reward_model.enable_resource_pool=true"]),
        (
            {f"{ROLLOUT}.agent.agent_loop_manager_class": "my.Manager"},
            ["class=my.Manager", "set it to null"],
        ),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = problems(**changes)
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_what_nothing_would_read_is_refused() -> None:
    off = {"run.rollouts.dars.schedule": None}
    assert problems(**off) == []
    assert (
        problems(**off, **{"trainer.v1.trainer_mode": "grpo", "actor_rollout_ref.actor.use_dynamic_bsz": False}) == []
    )
    for name, value, written in (("most", 64, "64"), ("scale", True, "true")):
        (problem,) = problems(**off, **{f"run.rollouts.dars.{name}": value})
        assert problem.startswith(f"run.rollouts.dars.{name}={written} is not read without run.rollouts.dars.schedule")
