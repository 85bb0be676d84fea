"""The one run that is left alone, for all tests that look at a run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.integration.real_run import REPEATABLE, SECRET, RealRun, make_task


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model and its problems."""
    return make_task(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="session")
def process_group() -> Iterator[None]:
    """One for every test of this process that needs it, since a second cannot be opened: state dicts hold DTensors."""
    torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="session")
def run(task: Path, process_group: None, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """Five steps, the reference reset after the third, and every checkpoint kept."""
    run = RealRun(task, tmp_path_factory.mktemp("run") / "run", *REPEATABLE)
    secret = f"+ray_kwargs.ray_init.runtime_env.env_vars.PARITY_TOKEN={SECRET}"
    run.printed = run.train("trainer.max_actor_ckpt_to_keep=null", secret)
    return run
