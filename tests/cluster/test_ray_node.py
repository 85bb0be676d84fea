"""Where Ray's files are on a node, and how many its processes may open."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pacs.cluster.ray_node import OPEN_FILES, _short_folder


def test_ray_s_sockets_fit_below_any_tmpdir(monkeypatch: pytest.MonkeyPatch) -> None:
    for tmpdir, parent in (("/var/tmp", "/var/tmp"), ("/var/tmp/" + "x" * 30, "/tmp")):
        monkeypatch.setattr(tempfile, "tempdir", tmpdir)
        folder = _short_folder()
        folder.rmdir()
        assert folder.parent == Path(parent)
        assert len(f"{folder}/session_2026-11-22_08-16-00_123456_1234567/sockets/plasma_store") <= 107


@pytest.mark.parametrize("soft", [256, None])
def test_ray_s_processes_may_open_as_many_files_as_the_user_may(soft: int | None) -> None:
    """Slurm hands on the limit of the shell that has submitted the job, often 1024; a higher one stays."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    hard = hard if 0 <= hard < 2 * OPEN_FILES else 2 * OPEN_FILES
    program = (
        "import resource, subprocess, sys\n"
        "from pacs.cluster.ray_node import allow_open_files\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft or hard}, {hard}))\n"
        "allow_open_files()\n"
        "subprocess.run(['bash', '-c', 'ulimit -n'], check=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == (min(OPEN_FILES, hard) if soft else hard)
