"""Answers in nvidia-smi's form, written by hand, and a driver that does not answer."""

from pathlib import Path

import pytest

from pacs.doctor import machine as gpus
from pacs.doctor.finding import Finding

#: In the form that `gpus.FIELDS` asks for.
HEALTHY = """\
0, NVIDIA H200, 143771, 4, 580.95.05, Enabled, Disabled
1, NVIDIA H200, 143771, 4, 580.95.05, Enabled, Disabled
"""


def findings(text: str, wanted: int | None = None) -> dict[str, Finding]:
    return {finding.check: finding for finding in gpus.check_gpus(gpus.parse_gpus(text), wanted)}


def test_healthy_gpus() -> None:
    found = findings(HEALTHY, 2)
    assert [finding.state for finding in found.values()] == ["ok", "ok"]
    assert found["GPUs"].found == "2 GPUs: NVIDIA H200 (143,771 MiB)"


@pytest.mark.parametrize(
    ("old", "new", "check", "state", "mend"),
    [
        ("580.95.05", "570.10", "driver", "fail", "580 or later"),
        ("1, NVIDIA H200, 143771, 4", "1, NVIDIA H200, 143771, 90000", "GPU 1", "warn", "in use by others"),
        ("Enabled, Disabled\n1", "Enabled, Enabled\n1", "GPU 0", "fail", "-mig 0"),
        ("Enabled, Disabled\n1", "Disabled, Disabled\n1", "GPU 0", "warn", "ECC"),
        ("1, NVIDIA H200, 143771", "1, NVIDIA A100-SXM4-80GB, 81920", "GPUs", "warn", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_what_is_odd_is_named(old: str, new: str, check: str, state: str, mend: str) -> None:
    assert old in HEALTHY
    finding = findings(HEALTHY.replace(old, new), 2)[check]
    assert finding.state == state
    assert mend in finding.mend


def test_memory_that_nvidia_smi_does_not_tell() -> None:
    found = findings("0, NVIDIA H200, [N/A], [N/A], 580.95.05, [N/A], Enabled\n", 1)
    assert found["GPUs"].found == "1 GPUs: NVIDIA H200 (? MiB)"
    assert found["GPU 0"].found == "? of ? MiB in use"
    assert "-mig 0" in found["GPU 0"].mend


def test_fewer_gpus_than_the_run_asks_for() -> None:
    finding = findings(HEALTHY, 8)["GPUs"]
    assert finding.state == "fail"
    assert "trainer.n_gpus_per_node=8" in finding.mend
    assert findings("", 8)["GPUs"].found == "no GPU"


def test_a_driver_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    program = tmp_path / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "{said}"\nexit 9\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(OSError, match="couldn't communicate"):
        gpus.query_gpus()


def test_the_gpus_that_cuda_may_use_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert str(gpus.query_gpus()).split()[-1] == "--id=2,3"
    for none in ("", "-1", "NoDevFiles"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", none)
        assert gpus.query_gpus() == ""


def test_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.query_gpus() is None
