"""Ray's CPUs that a run waits for: as many as verl's placement groups take."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import verl
from omegaconf import DictConfig, OmegaConf
from ray._private import utils

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
DOCKER_CPUS = utils._get_docker_cpus


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
def test_each_gpu_takes_its_cpus(
    changes: dict[str, Any], needed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three a rank, of training and of a judge with GPUs of its own; two a GPU of vLLM's own."""
    assert list(slot_problems(config_of(changes | {SLOTS: needed}))) == []
    (problem,) = slot_problems(config_of(changes | {SLOTS: needed - 1}))
    assert problem.startswith(f"{SLOTS}={needed - 1} is too few")
    mend = int(problem.partition(f"set {SLOTS}=")[2].split()[0])
    assert list(slot_problems(config_of(changes | {SLOTS: mend}))) == []
    for cores, limit, counted in (
        (needed, None, needed),
        (needed - 1, None, needed - 1),
        (100, needed, needed),
        (100, needed - 1, needed - 1),
    ):
        be_a_machine(cores, limit, tmp_path / "cpu.max", monkeypatch)
        problems = list(machine_slot_problems(config_of(changes)))
        assert [f"has {counted} cores" in problem for problem in problems] == [True] * (counted < needed)
        assert list(machine_slot_problems(config_of(changes | {SLOTS: needed}))) == []


def be_a_machine(cores: int, limit: int | None, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one has `cores`, and a container whose control group allows as many CPUs as `limit`: Ray reads `file`."""
    file.write_text("max 100000\n" if limit is None else f"{limit * 100_000} 100000\n")
    none = str(file.with_name("none"))
    # Ray's function itself, which looks for the limit in `file` instead of below /sys.
    monkeypatch.setattr(utils, "_get_docker_cpus", partial(DOCKER_CPUS, none, none, none, str(file)))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)


@pytest.mark.parametrize("other", [{"ray_kwargs.ray_init.address": "auto"}, APART | {next(iter(APART)): None}])
def test_a_cluster_and_what_another_check_refuses_are_left_alone(other: dict[str, Any]) -> None:
    assert list(slot_problems(config_of(other | {SLOTS: 1}))) == []
    assert list(machine_slot_problems(config_of(other))) == []


def test_verl_sets_so_many_apart_for_an_engine() -> None:
    source = (Path(verl.__file__).parent / "workers/rollout/replica.py").read_text()
    assert f"max_colocate_count={CPUS_OF_AN_ENGINE}," in source
