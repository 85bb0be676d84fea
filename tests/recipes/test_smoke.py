"""The smoke recipe: what it makes, its gates on a run's metrics, and a whole smoke on this machine."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from pacs.composing import compose_run
from pacs.planning.plan import Plan, make_plan
from recipes.smoke.gates import Gate, gates, training_process_bytes
from recipes.smoke.make import SHAPES, TINY, make
from recipes.smoke.run import main

REWARD = Path(__file__).parents[2] / "recipes/smoke/reward.py"
WIDE = replace(TINY, vocab_size=1000)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("smoke")
    make(out, WIDE, torch.bfloat16, seed=0)
    return out


def test_the_model_has_the_shape_and_the_dtype(made: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(made / "model", dtype="auto")
    assert model.dtype == torch.bfloat16
    assert sum(parameter.numel() for parameter in model.parameters()) == WIDE.parameters
    assert model.generation_config.top_k == 0


def test_all_that_a_random_model_samples_is_text(made: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made / "model")
    assert len(tokenizer) == WIDE.vocab_size == AutoConfig.from_pretrained(made / "model").vocab_size
    assert all(tokenizer.decode([token]) for token in range(WIDE.vocab_size))
    assert len(tokenizer.encode("<999>1+1")) == len("<999>1+1")


def test_what_is_made_is_kept_until_it_is_asked_for_otherwise(made: Path) -> None:
    weights = made / "model/model.safetensors"
    before = weights.stat().st_mtime_ns
    make(made, WIDE, torch.bfloat16, seed=0)
    assert weights.stat().st_mtime_ns == before
    make(made, WIDE, torch.bfloat16, seed=1)
    assert weights.stat().st_mtime_ns > before


def plan_of(made: Path, *overrides: str) -> Plan:
    inputs = [f"data.{name}_files={made / 'prompts.parquet'}" for name in ("train", "val")]
    reward = f"reward.custom_reward_function.path={REWARD}"
    model = f"actor_rollout_ref.model.path={made / 'model'}"
    config, hardware = compose_run("pacs", ["recipe=smoke", model, *inputs, reward, *overrides])
    return make_plan(config, hardware=hardware)


@pytest.fixture(scope="module")
def plans(made: Path) -> dict[str, Plan]:
    return {name: plan_of(made, f"hardware={name}") for name in ("cpu", "h200x1")}


def steps(plan: Plan) -> list[dict[str, float]]:
    """Of a run that works."""
    distances = (0.001, 20.0, 0.002, 19.0)
    return [
        {
            "step": number,
            "pacs/gradient/norm_max": 5.0,
            "pacs/gradient/skipped_count": 0.0,
            "pacs/rollout_gap/per_token": 0.004,
            "pacs/log_ratio/sequence_mean": -0.6 * distance,
            "pacs/log_ratio/sequence_std": 0.8 * distance,
            "actor/perf/max_memory_allocated_gb": training_process_bytes(plan) / 2**30,
        }
        for number, distance in enumerate(distances, 1)
    ]


def judged(lines: Sequence[dict[str, float]], plan: Plan, **other: Any) -> dict[str, Gate]:
    asked = {"reset_every": 2, "resumed_after": 3, "dtype": "bfloat16"} | other
    return {gate.name: gate for gate in gates(lines, plan=plan, **asked)}


def test_a_machine_that_works_passes_every_gate(plans: dict[str, Plan]) -> None:
    plan = plans["h200x1"]
    found = judged(steps(plan), plan)
    assert [gate.passed for gate in found.values()] == [True] * 7
    assert "save and resume" not in judged(steps(plan)[:3], plan, resumed_after=None)


@pytest.mark.parametrize(
    ("step", "key", "value", "gate"),
    [
        (3, "pacs/gradient/norm_max", float("nan"), "gradients"),
        (1, "pacs/gradient/norm_max", 0.0, "gradients"),
        (2, "pacs/gradient/skipped_count", 1.0, "gradients"),
        (1, "pacs/rollout_gap/per_token", 0.06, "rollout gap, step 1"),
        (1, "pacs/rollout_gap/per_token", float("nan"), "rollout gap, step 1"),
        (2, "pacs/rollout_gap/per_token", 0.03, "rollout gap after sleep and transfer"),
        (3, "pacs/rollout_gap/per_token", float("nan"), "rollout gap after sleep and transfer"),
        (4, "pacs/rollout_gap/per_token", 0.03, "rollout gap after sleep and transfer"),
        (3, "pacs/log_ratio/sequence_std", 15.0, "log-ratio after a reset"),
        (3, "pacs/log_ratio/sequence_mean", 15.0, "log-ratio after a reset"),
        (3, "pacs/log_ratio/sequence_mean", float("nan"), "log-ratio after a reset"),
        (4, "step", 3, "save and resume"),
        (3, "actor/perf/max_memory_allocated_gb", 1e3, "memory of a training process"),
    ],
)
def test_each_gate_sees_its_fault(plans: dict[str, Plan], step: int, key: str, value: float, gate: str) -> None:
    plan = plans["h200x1"]
    lines = steps(plan)
    lines[step - 1][key] = value
    failed = [name for name, each in judged(lines, plan).items() if not each.passed]
    assert gate in failed
    assert key == "step" or math.isnan(value) or failed == [gate]


def test_a_policy_that_does_not_move_is_seen(plans: dict[str, Plan]) -> None:
    lines = steps(plans["h200x1"])
    for line in lines:
        line["pacs/log_ratio/sequence_mean"] = line["pacs/log_ratio/sequence_std"] = 0.0
    assert not judged(lines, plans["h200x1"])["the policy moves"].passed


def test_a_smaller_peak_than_planned_is_a_wrong_plan(plans: dict[str, Plan]) -> None:
    lines = steps(plans["h200x1"])
    for line in lines:
        line["actor/perf/max_memory_allocated_gb"] *= 0.7
    assert not judged(lines, plans["h200x1"])["memory of a training process"].passed


def test_a_cpu_cannot_tell_of_memory(plans: dict[str, Plan]) -> None:
    lines = [{key: value for key, value in line.items() if "memory" not in key} for line in steps(plans["cpu"])]
    found = judged(lines, plans["cpu"], dtype="float32")
    assert found["memory of a training process"].passed is None
    assert not found["rollout gap, step 1"].passed  # 0.004 nats is too much for float32


def test_what_does_not_fit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--hardware", "cpu", "--out", str(tmp_path), "data.train_batch_size=65"]
    assert main(asked) == 2
    assert "data.train_batch_size" in capsys.readouterr().err
    assert main(["--shape", "qwen3_14b", "--hardware", "h200x1", "--out", str(tmp_path / "large")]) == 2
    assert "by the plan it does not fit" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.safetensors"))
    with pytest.raises(SystemExit, match="2"):
        main(["--layers", "0"])


def test_shapes_are_the_published_ones() -> None:
    assert list(SHAPES) == ["tiny", "qwen3_0_6b", "qwen3_1_7b", "qwen3_4b", "qwen3_8b", "qwen3_14b"]
    assert SHAPES["qwen3_8b"].parameters == 8_190_735_360  # Qwen/Qwen3-8B on the Hub


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_whole_smoke(tmp_path: Path) -> None:
    """Of Qwen's vocabulary, with one layer: trained, resumed, judged; a second start reuses all of it."""
    env = {key: value for key, value in os.environ.items() if key != "VERL_PLATFORM"}
    command = [sys.executable, "-m", "recipes.smoke.run", "--hardware", "cpu", "--shape", "qwen3_0_6b", "--layers", "1"]
    command += ["--out", str(tmp_path), "data.max_response_length=16", "data.train_batch_size=4"]
    command += [
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1024",
    ]
    command += ["actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=600"]
    first = subprocess.run(command, env=env, capture_output=True, text=True)
    assert first.returncode == 0, first.stdout + first.stderr[-3000:]
    found = json.loads((tmp_path / "gates.json").read_text())
    assert [gate["passed"] for gate in found] == [True] * 6 + [None]
    assert first.stdout.count("passed  ") == 6
    again = subprocess.run(command, env=env, capture_output=True, text=True)
    assert again.returncode == 0
    assert again.stdout.splitlines()[-4:] == first.stdout.splitlines()[-4:]
