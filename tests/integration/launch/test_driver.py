"""The driver's process, which imports verl while the launcher is still checking, and the run's folder is not there."""

import os
import subprocess
import sys
from pathlib import Path

from pacs.runs.processes import RUN_DIR

PROGRAM = """
import pacs.integration.launch.job
from verl.trainer import main_ppo

main_ppo.print("HF_TOKEN=abc")
"""


def test_the_driver_of_a_new_run_has_the_patches_and_makes_no_folder(tmp_path: Path) -> None:
    """verl says nothing of a plugin that fails, and prints in the driver what it starts Ray with."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {RUN_DIR: str(tmp_path / "run")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["HF_TOKEN=(not shown)"], done.stderr[-3000:]
    assert not (tmp_path / "run").exists()
