"""How many answers are graded at a time."""

import os
from collections.abc import Iterator

import pytest
from omegaconf import OmegaConf

from pacs.rewards import cores, isolation
from pacs.rewards.cores import cores_to_grade, share_cores


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = dict(cores._here)
    yield
    cores._here.update(before)


@pytest.mark.parametrize(
    ("machine", "engines", "graders", "each"),
    [(16, 1, 1, 15), (16, 8, 1, 8), (16, 1, 8, 2), (64, 8, 8, 7), (2, 1, 1, 2), (4, 8, 8, 2)],
)
def test_the_cores_less_the_engines_are_shared(
    machine: int, engines: int, graders: int, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(machine)))
    share_cores(engines=engines, graders=graders)
    assert cores_to_grade() == each
    assert isolation._Pool("math", isolation.Limits())._workers == each
    assert isolation._Pool("math", isolation.Limits(workers=3))._workers == 3


@pytest.mark.parametrize(("of_engines", "engines"), [("${trainer.n_gpus_per_node}", 4), (2, 1), (1, 1)])
def test_a_node_of_a_run_has_its_part_of_the_graders(of_engines: str | int, engines: int) -> None:
    """Engines on GPUs of their own are counted by those."""
    reward_manager = pytest.importorskip("pacs.integration.reward_manager")
    config = {
        "trainer": {"n_gpus_per_node": 8, "nnodes": 2},
        "actor_rollout_ref": {"rollout": {"tensor_model_parallel_size": 2, "n_gpus_per_node": of_engines}},
        "reward": {"num_workers": 9},
    }
    assert reward_manager.on_a_node(OmegaConf.create(config)) == (engines, 5)
