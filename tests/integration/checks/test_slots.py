"""Ray's CPUs that a run waits for: as many as verl's placement groups take."""

import os
from pathlib import Path
from typing import Any

import pytest
import verl
from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.slots import CPUS_OF_AN_ENGINE, machine_slot_problems, slot_problems

CONFIG = """
trainer: {n_gpus_per_node: 4}
reward: {reward_model: {enable: false, enable_resource_pool: false, n_gpus_per_node: 8}}
actor_rollout_ref: {rollout: {nnodes: 0, n_gpus_per_node: 4}}
ray_kwargs: {ray_init: {num_cpus: null, address: null}}
"""
SLOTS = "ray_kwargs.ray_init.num_cpus"
JUDGE = {f"reward.reward_model.{name}": value for name, value in (("enable", True), ("enable_resource_pool", True))}
APART = {"actor_rollout_ref.rollout.nnodes": 1, "actor_rollout_ref.rollout.n_gpus_per_node": 2}


def config_of(changes: dict[str, Any]) -> DictConfig:
    config = OmegaConf.create(CONFIG)
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    assert isinstance(config, DictConfig)
    return config


@pytest.mark.parametrize(
    ("changes", "needed"),
    [({}, 12), (JUDGE, 36), (APART, 16), (JUDGE | APART, 40), ({"reward.reward_model.enable": True}, 12)],
)
def test_each_gpu_takes_its_cpus(changes: dict[str, Any], needed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three a rank, of training and of a judge with GPUs of its own; two a GPU of vLLM's own."""
    assert list(slot_problems(config_of(changes | {SLOTS: needed}))) == []
    (problem,) = slot_problems(config_of(changes | {SLOTS: needed - 1}))
    assert problem.startswith(f"{SLOTS}={needed - 1} is too few")
    mend = int(problem.partition(f"set {SLOTS}=")[2].split()[0])
    assert list(slot_problems(config_of(changes | {SLOTS: mend}))) == []
    for cores, said in ((needed, 0), (needed - 1, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert len(list(machine_slot_problems(config_of(changes)))) == said
        assert list(machine_slot_problems(config_of(changes | {SLOTS: needed}))) == []


@pytest.mark.parametrize("other", [{"ray_kwargs.ray_init.address": "auto"}, APART | {next(iter(APART)): None}])
def test_a_cluster_and_what_another_check_refuses_are_left_alone(other: dict[str, Any]) -> None:
    assert list(slot_problems(config_of(other | {SLOTS: 1}))) == []
    assert list(machine_slot_problems(config_of(other))) == []


def test_verl_sets_so_many_apart_for_an_engine() -> None:
    source = (Path(verl.__file__).parent / "workers/rollout/replica.py").read_text()
    assert f"max_colocate_count={CPUS_OF_AN_ENGINE}," in source
