"""Engines on a cluster whose GPUs are taken."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from pacs.base.errors import UserError
from pacs.evaluation.engine import EngineOptions, EngineSettings
from pacs.evaluation.engines import cluster, start_engines
from pacs.evaluation.process import Stopped, StopRequest
from pacs.evaluation.settings import Sampling
from pacs.rewards.reasoning import Reasoning
from pacs.runs.clearing import TEMPORARY
from pacs.runs.processes import KEEP_ENVIRONMENT, TOKEN


@pytest.fixture
def taken() -> Iterator[None]:
    """A cluster with one GPU (a number, to Ray), which somebody has."""
    ray.init(address="local", num_gpus=1, include_dashboard=False, log_to_driver=False)
    group = ray.util.placement_group([{"GPU": 1}])
    ray.get(group.ready())
    yield
    ray.shutdown()


def test_a_ray_of_ones_own_needs_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before it is started."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", "")
    monkeypatch.setattr("ray.init", lambda **_: pytest.fail("it would have been started"))
    with pytest.raises(UserError, match=r"RAY_TMPDIR= is set: .*unset RAY_TMPDIR"), cluster(None):
        pass


@pytest.mark.slow
def test_gpus_that_are_taken_are_waited_for_and_the_wait_is_said(
    taken: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (TOKEN, TEMPORARY, KEEP_ENVIRONMENT):
        monkeypatch.setenv(name, str(tmp_path))
    stop = StopRequest()
    stop.signals.append(signal.SIGTERM)
    settings = EngineSettings("model", 64, Sampling(1.0, 1.0, 32), EngineOptions(), Reasoning(()))
    with pytest.raises(Stopped):
        start_engines(settings, tmp_path, stop)
    assert "waiting for 1 GPUs, of which 0 are free now" in capsys.readouterr().out
