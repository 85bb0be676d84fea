"""Which commit a run was made from."""

import subprocess
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
