"""The ranks that try a run's layout: on the GPUs that are given, for as long as is said, and who failed first."""

import subprocess

import pytest
from omegaconf import OmegaConf

from pacs.doctor import trials


@pytest.mark.parametrize(
    ("visible", "gpus"), [(None, ["0", "1"]), ("4,5,6", ["4", "5"]), ("GPU-a, GPU-b", ["GPU-a", "GPU-b"])]
)
def test_a_rank_has_one_of_the_gpus_that_are_given(
    visible: str | None, gpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [trials.gpu_of(rank) for rank in range(2)] == gpus


@pytest.mark.parametrize(("visible", "usable"), [(None, 8), ("", 0), ("3", 1), ("1, 2", 2), ("0,1,2,3,4,5,6,7,8", 8)])
def test_a_layout_is_tried_on_gpus_that_are_given(
    visible: str | None, usable: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert trials.usable_gpus(8) == usable


def test_who_fails_first_is_told_though_others_wait_for_it() -> None:
    processes = [subprocess.Popen(["sleep", "600"]), subprocess.Popen(["sh", "-c", "exit 3"])]
    assert trials.first_to_fail(processes, 60.0) == 1
    assert processes[0].returncode == -9


def test_none_fails_when_all_end_well() -> None:
    assert trials.first_to_fail([subprocess.Popen(["true"]), subprocess.Popen(["sleep", "0.3"])], 60.0) is None


def test_the_layout_has_the_time_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the ten-second test, in which a large model's weights are not read."""
    monkeypatch.setattr(trials, "LAYOUT_SECONDS", 0.2)
    config = OmegaConf.create({"trainer": {"n_gpus_per_node": 1, "device": "cpu"}})
    (finding,) = trials.check_layout(config)
    assert (finding.state, "within 0 s" in finding.found) == ("fail", True)
