"""A Ray cluster that has gone down is known to be gone at once: Ray tries 20 times for 41 s to connect."""

import socket
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import ray
from omegaconf import OmegaConf

from pacs.integration import nodes
from pacs.integration.launch import launcher
from pacs.integration.nodes import connected


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a port that nobody listens at, and that nobody else is given meanwhile."""

    def tries(*_: object, **__: object) -> None:
        raise AssertionError("Ray would try for a quarter of an hour")

    monkeypatch.setattr(ray, "init", tries)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("named", ["by its address", "auto"])
def test_nothing_answers_there(named: str, gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", gone)
    port = gone.rpartition(":")[2]
    with (
        pytest.raises(ConnectionError, match=rf"nothing answers at .+:{port} \("),
        connected("auto" if named == "auto" else gone),
    ):
        pass


def test_a_run_whose_cluster_is_gone_ends_with_its_own_status(gone: str, capsys: pytest.CaptureFixture[str]) -> None:
    launcher._clear_cluster(OmegaConf.create({"ray_kwargs": {"ray_init": {"address": gone}}, "run": {"dir": "unused"}}))
    assert f"Ray at {gone} is gone (nothing answers at" in capsys.readouterr().out


def test_nor_does_one_that_goes_meanwhile(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def lists(run_dir: object) -> None:  # as `ray.nodes` does
        raise ray.exceptions.RaySystemError("Failed to connect to GCS.")

    monkeypatch.setattr(nodes, "connected", nullcontext)
    monkeypatch.setattr(nodes, "clear_other_nodes", lists)
    launcher._clear_cluster(OmegaConf.create({"ray_kwargs": {"ray_init": {"address": "a"}}, "run": {"dir": "unused"}}))
    assert "Ray at a is gone (System error: Failed to connect to GCS.)" in capsys.readouterr().out
