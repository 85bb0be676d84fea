"""What a filter of groups cannot go with is refused, each by its setting and the mend."""

import pytest
from omegaconf import OmegaConf

from pacs.integration.checks.group_filter import filter_problems

CONFIG = """
algorithm: {filter_groups: {enable: true, metric: score, max_num_gen_batches: 10, max_inflight_gen_batches: 1}}
actor_rollout_ref: {rollout: {n: 8}}
data: {gen_batch_size: null}
reward:
  custom_reward_function: {path: pkg://pacs.rewards.registry}
  reward_model: {enable: false, enable_resource_pool: false}
trainer: {v1: {sampler: {custom_sampler: {path: null, name: null}}}}
"""
GROUPS = "algorithm.filter_groups"


def problems(**changes: object) -> list[str]:
    config = OmegaConf.create(CONFIG)
    for key, value in changes.items():
        OmegaConf.update(config, key, value, force_add=True)
    return list(filter_problems(config))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {f"{GROUPS}.metric": "reward", f"{GROUPS}.max_num_gen_batches": 0},
        {f"{GROUPS}.metric": "format", "reward.custom_reward_function.path": "mine.py"},
        {"reward.reward_model": {"enable": True, "enable_resource_pool": True}},
        {"data.gen_batch_size": 1},
        # Off, at verl's values and at ours.
        {f"{GROUPS}.enable": False, "actor_rollout_ref.rollout.n": 1},
        {f"{GROUPS}.enable": False, f"{GROUPS}.metric": None, f"{GROUPS}.max_num_gen_batches": 0},
    ],
)
def test_what_it_needs_is_there(changes: dict[str, object]) -> None:
    assert problems(**changes) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{GROUPS}.metric": None}, [f"{GROUPS}.metric=null", "use score, or reward"]),
        ({f"{GROUPS}.metric": "format"}, [f"{GROUPS}.metric=format", "use score, or reward"]),
        ({f"{GROUPS}.max_num_gen_batches": -1}, [f"{GROUPS}.max_num_gen_batches=-1", "at least 0 (0: no limit)"]),
        ({f"{GROUPS}.max_num_gen_batches": 1.5}, [f"{GROUPS}.max_num_gen_batches=1.5", "whole number"]),
        ({f"{GROUPS}.max_inflight_gen_batches": 0}, [f"{GROUPS}.max_inflight_gen_batches=0", "at least 1"]),
        ({"actor_rollout_ref.rollout.n": 1}, ["actor_rollout_ref.rollout.n=1", "sample more"]),
        ({"data.gen_batch_size": 64}, ["data.gen_batch_size=64", "leave that out"]),
        ({"run.rollouts.pool.weights": "sqrt"}, ["run.rollouts.pool.weights=sqrt", "leave one of them out"]),
        ({"reward.reward_model.enable": True}, ["reward.reward_model.enable_resource_pool=true"]),
        (
            {"trainer.v1.sampler.custom_sampler.path": "mine.py"},
            ["trainer.v1.sampler.custom_sampler.path=mine.py", "leave one of them out"],
        ),
        ({"skip.rollout_tq.enable": True}, ["skip.rollout_tq.enable=true", "leave one of them out"]),
        ({f"{GROUPS}.enable": False, f"{GROUPS}.metric": "reward"}, [f"{GROUPS}.metric=reward is not read"]),
        ({f"{GROUPS}.enable": False, f"{GROUPS}.max_inflight_gen_batches": 2}, [f"without {GROUPS}.enable"]),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = problems(**changes)
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")
