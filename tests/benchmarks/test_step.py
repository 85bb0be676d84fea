"""The step benchmark end to end: every algorithm through verl's real workers."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = ("GRPO", "PPO", "PACS grouped", "PACS cached", "padded groups, no entropy")


def run(*arguments: str, script: str = "step.py") -> str:
    command = [sys.executable, f"benchmarks/{script}", *arguments]
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
    """With what the machine has of vLLM and flash-attn."""
    without = [] if find_spec("vllm") else ["--no-generation"]
    without += [] if find_spec("flash_attn") else ["--attn", "sdpa"]
    printed = run("--device", "cuda", "--shape", "0.6b", "--steps", "2", *without)
    for line in (*LINES, "PACS grouped over GRPO", "random tokens" if "--no-generation" in without else "(vLLM)"):
        assert line in printed


@pytest.mark.slow
@pytest.mark.long
def test_a_step_beside_the_plan_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    arguments = ("--shape", "smoke", "--steps", "1", "--prompts", "2", "--out", str(tmp_path))
    printed = run(*arguments, script="step_against_plan.py")
    (file,) = tmp_path.iterdir()
    result = json.loads(file.read_text())
    assert file.name == "step_smoke_torch_sdpa.json"
    assert result["machine"]["device"] in printed
    for phase in ("reference pass", "policy pass", "update"):
        assert len(result["measured"]["phases"][phase]["seconds"]) == 1
        assert result["measured"]["phases"][phase]["peak_bytes"] > 0
        assert result["planned"][phase]["bytes"] > 0
    noise = result["measured"]["packing_noise"]
    assert noise["per_response_mean"] < 1e-4
    assert noise["tokens"] == 12

    file.write_text(json.dumps(result | {"mark": 1}))
    assert "there already" in run(*arguments, script="step_against_plan.py")
    assert json.loads(file.read_text())["mark"] == 1


@pytest.mark.slow
def test_a_comparison_that_is_cut_off_at_once_shows_nothing_of_an_older_one(tmp_path: Path) -> None:
    older = {"older": {"seconds": {"update": [1.0]}, "counted": {"16": {"update": {}}}}}
    file = tmp_path / "compare_smoke_torch_sdpa_1_layers.json"
    file.write_text(json.dumps({"variants": older}))
    arguments = ("--compare", "--shape", "smoke", "--limit", "0.01", "--out", str(tmp_path))
    command = [sys.executable, "benchmarks/step_against_plan.py", *arguments]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 1, finished.stderr
    assert "older" not in finished.stdout
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_variant_that_fails_leaves_the_others_their_turn(tmp_path: Path) -> None:
    """torch.compile has no compiler here, and nothing that it has compiled before."""
    arguments = ("--compare", "--shape", "smoke", "--layers", "1", "--steps", "1", "--prompts", "2")
    variants = ("default", "compiled", "not checkpointed")
    broken = {"CXX": "no-such-compiler", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    command = [sys.executable, "benchmarks/step_against_plan.py", *arguments, "--out", str(tmp_path)]
    finished = subprocess.run(
        [*command, "--variants", *variants],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | broken,
        check=False,
    )
    assert finished.returncode == 1, finished.stdout[-4000:] + finished.stderr[-2000:]
    results = json.loads((tmp_path / "compare_smoke_torch_sdpa_1_layers.json").read_text())["variants"]
    assert [*results] == [*variants]
    assert ["seconds" in results[name] for name in variants] == [True, False, True]
    assert "no-such-compiler" in results["compiled"]["error"] or "InvalidCxxCompiler" in results["compiled"]["error"]
    assert results["compiled"]["error"] in finished.stdout
    assert finished.stdout.endswith("without a result:\n  compare_smoke_torch_sdpa_1_layers.json: compiled\n")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_both_heads_beside_the_plan_on_one_gpu(tmp_path: Path) -> None:
    attention = "flash" if find_spec("flash_attn") else "sdpa"
    arguments = ("--device", "cuda", "--shape", "0.6b", "--steps", "1", "--attn", attention, "--out", str(tmp_path))
    printed = run(*arguments, script="step_against_plan.py")
    print(printed)  # the table is what one wants to see
    results = {file.name: json.loads(file.read_text()) for file in tmp_path.iterdir()}
    assert set(results) == {f"step_0.6b_{head}_{attention}.json" for head in ("torch", "triton")}
    assert [name for name, result in results.items() if "measured" not in result] == []
