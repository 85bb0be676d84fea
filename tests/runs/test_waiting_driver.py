"""The driver's process before the run begins: it waits, and a run that is refused leaves nothing of it."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pacs.runs.processes import RUN_DIR, processes_of
from pacs.runs.supervisor import Driver

MODULE = "tests.runs.driver_process"


def gone(run_dir: Path) -> bool:
    """Whether no process of a run in the folder is there within ten seconds."""
    deadline = time.monotonic() + 10
    while processes_of(str(run_dir), RUN_DIR):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def open_files() -> set[str]:
    """What this process has open, a pipe by its inode."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found.add(str(descriptor.readlink()))
    return found


def test_it_waits_and_ends_with_the_one_that_gives_it_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACS_TEST_DRIVER", "raise")
    with Driver(MODULE, tmp_path / "run") as driver:
        time.sleep(3)  # it would have raised by now
        assert psutil.Process(driver.process.pid).is_running()
        assert driver.process.poll() is None
        pipes = {str(Path(f"/proc/self/fd/{descriptor}").readlink()) for descriptor in driver.descriptors}
    assert gone(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert len(pipes) == 3
    assert pipes.isdisjoint(open_files())


def test_it_ends_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    code = (
        f"import os, pathlib; from pacs.runs.supervisor import Driver; run = pathlib.Path({str(tmp_path / 'run')!r})\n"
    )
    code += f"driver = Driver({MODULE!r}, run); print(driver.process.pid, flush=True); os.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    assert killed.returncode == -9
    assert killed.stdout.strip().isdigit()
    assert gone(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_that_is_refused_leaves_none(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pacs",
        "train",
        "recipe=arithmetic",
        "method.beta=-1",
        f"run.dir={tmp_path / 'run'}",
    ]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 2, refused.stderr
    assert not processes_of(str(tmp_path / "run"), RUN_DIR)
