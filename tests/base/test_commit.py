"""Which commit a run was made from."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pacs.base import commit

ROOT = Path(__file__).parents[2]


def test_a_checkout_says_it_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(commit.VARIABLE, "of an image")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (commit.git_commit() or "").removesuffix("+") == head.stdout.strip()


def test_an_image_says_it_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "__file__", str(tmp_path / "pacs" / "base" / "commit.py"))
    monkeypatch.delenv(commit.VARIABLE, raising=False)
    assert commit.git_commit() is None
    monkeypatch.setenv(commit.VARIABLE, "c0ffee")
    assert commit.git_commit() == "c0ffee"
    (tmp_path / ".git").mkdir()  # of a checkout that git cannot read
    assert commit.git_commit() is None


def test_a_ctrl_c_does_not_hide_it(tmp_path: Path) -> None:
    """It is for the whole foreground group; a process that heeds it by itself still notes what it did."""
    git, there = tmp_path / "git", tmp_path / "there"
    git.write_text(f'#!/bin/sh\ntouch {there}\nsleep 1\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    code = "import signal; signal.signal(2, lambda *_: None); from pacs.base import commit; print(commit.git_commit())"
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        deadline = time.monotonic() + 30
        while not there.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert said.strip() == commit.git_commit()
