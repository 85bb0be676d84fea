"""The step benchmark end to end: every algorithm through verl's real workers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = ("GRPO", "PPO", "PACS grouped", "PACS cached", "padded groups, no entropy")


def run(*arguments: str) -> str:
    command = [sys.executable, "benchmarks/step.py", *arguments]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, (finished.stdout + finished.stderr)[-6000:]
    return finished.stdout


@pytest.mark.slow
@pytest.mark.long
def test_a_small_run_measures_everything(tmp_path: Path) -> None:
    file = tmp_path / "step.json"
    printed = run("--shape", "smoke", "--steps", "1", "--no-generation", "--json", str(file))
    results = json.loads(file.read_text())

    timing = results["timing"]
    assert set(LINES) < timing.keys()
    assert all(len(steps) == 1 for steps in timing.values())
    passes = ("log-prob pass", "policy pass")
    assert all(timing["PACS cached"][0][phase] > 0 for phase in passes)
    assert [timing["PACS grouped"][0][phase] > 0 for phase in passes] == [True, False]
    assert timing["PPO"][0].keys() >= {"values pass", "critic update", "actor update"}

    tokens = {name: line["micro_batch_tokens"] for name, line in results["memory"].items()}
    assert len({tokens[f"PACS cached, groups of {size}"] for size in (8, 16, 32)}) == 1
    assert tokens["PACS grouped, groups of 32"] > tokens["PACS grouped, groups of 8"]
    assert all(line["over"] >= 0 for line in results["memory"].values())
    assert len(results["bars"]) == 4 + 2

    for line in (*LINES, "PACS cached over GRPO", "random tokens", "python benchmarks/step.py --shape smoke"):
        assert line in printed


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_published_shape_on_one_gpu() -> None:
    printed = run("--device", "cuda", "--shape", "0.6b", "--steps", "2")
    for line in (*LINES, "PACS grouped over GRPO", "(vLLM)"):
        assert line in printed
