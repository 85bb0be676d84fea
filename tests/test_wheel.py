"""The built wheel in a folder elsewhere: what a run needs and is no code of `pacs` is in it, too."""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]


def test_a_recipe_runs_from_the_wheel(tmp_path: Path) -> None:
    """The first command says what to do, and after that the same command trains."""
    pip, site, elsewhere = [sys.executable, "-m", "pip", "--quiet"], tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("pacs-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True)
    env = os.environ | {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=elsewhere, env=env, capture_output=True, text=True, check=False
        )

    where = run("-c", "import pacs; print(pacs.__file__)").stdout.strip()
    assert Path(where).is_relative_to(site)
    assert {path.name for path in site.iterdir() if path.suffix != ".dist-info"} - {"bin"} == {"pacs"}
    train = ["-m", "pacs", "train", "recipe=arithmetic", "trainer.total_training_steps=2", "run.dir=run"]
    # Without `site` the folder of this checkout, which an editable install adds, is not on the path.
    alone = env | {"PYTHONPATH": os.pathsep.join([str(site), sysconfig.get_path("purelib")])}
    command = [sys.executable, "-S", *train]
    refused = subprocess.run(command, cwd=elsewhere, env=alone, capture_output=True, text=True, check=False)
    assert refused.returncode == 2, refused.stderr
    named = "python -m recipes.arithmetic.make --out outputs/arithmetic"
    assert f"`{named}` in a checkout of this project" in refused.stderr
    made = [sys.executable, *shlex.split(named)[1:-1], str(elsewhere / "outputs" / "arithmetic")]
    subprocess.run(made, cwd=ROOT, check=True)
    trained = run(*train)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    lines = [json.loads(line) for line in (elsewhere / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "timing_s/step" in line] == [1, 2]
    assert lines[-1]["critic/score/mean"] > 0
