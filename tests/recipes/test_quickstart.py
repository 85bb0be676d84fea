"""The quickstart from its script to its table, for real; and a second run, which reuses everything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.base.commit import git_commit

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1500)]


def quickstart(out: Path) -> str:
    env = os.environ | {"PACS_VENV": sys.prefix}
    env.pop("VERL_PLATFORM", None)
    command = ["bash", "scripts/quickstart.sh", "--seed", "3", "--out", str(out)]
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=1400)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def test_quickstart_learns_and_reports(tmp_path: Path) -> None:
    tmp_path = tmp_path / "a folder (1)"
    printed = quickstart(tmp_path / "out")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    before, after = result["before"], result["after"]
    assert 0.25 <= before["pass@1"] <= 0.45
    assert before["greedy"] <= 0.70
    assert after["greedy"] >= 0.90
    assert after["pass@1"] >= 1.5 * before["pass@1"]
    assert result["seconds"]["step_median"] > 0
    assert result["run"]["git_commit"] == git_commit()
    for file in ("report/overview.png", "report/index.html", "run/output.log", "run/metrics.jsonl"):
        assert (tmp_path / "out" / file).stat().st_size > 0
        assert file.startswith("run/") or file in printed

    started = (tmp_path / "out" / "result.json").stat().st_mtime
    again = quickstart(tmp_path / "out")
    assert "environment: reusing" in again
    assert "result: reusing" in again
    assert (tmp_path / "out" / "result.json").stat().st_mtime == started
