"""A checkpoint of the stack's kind, measured: what is evaluated are its weights, on the problems of its run's start."""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from transformers import AutoTokenizer, Qwen3ForCausalLM

from pacs.base.errors import UserError
from pacs.checkpoints.folder import seal
from pacs.integration.launch.input_hashes import write_inputs
from pacs.sweeps.results import FORMAT
from recipes.laboratory import questions
from recipes.laboratory.evaluation import Evaluation, evaluate
from recipes.laboratory.starts import start_digest
from recipes.methods.__main__ import add
from recipes.methods.measure import key, measure
from recipes.methods.page import QUESTION, read
from recipes.starts.read import read_problems
from tests.export.conftest import run_config
from tests.recipes.laboratory.tiny import make_tiny_start

EVALUATION = Evaluation(split="test", problems=5, samples=40)
#: What a results.json has beside its runs, and a run of it beside what is looked at here.
OF_A_FILE: dict[str, Any] = {"format": FORMAT, "sweep": "methods", "description": "", "command": [], "model": None}
OF_A_FILE |= {"recipe": "arithmetic_mixed", "data": {}, "intervals": {}, "settings": []}
OF_A_RUN: dict[str, Any] = {"label": "", "folder": "", "command": [], "versions": {}, "measures": {}, "evaluation": {}}
OF_A_RUN |= {"curves": {}, "git_commit": "abc"}
OF_A_RUN |= dict.fromkeys(("cause", "evaluation_problem", "started", "host", "python"))


@pytest.fixture
def start(tmp_path: Path) -> Path:
    made = make_tiny_start(tmp_path / "start")
    (made / "manifest.json").write_text(json.dumps({"task": "arithmetic_mixed"}))
    return made


@pytest.fixture
def trained(start: Path) -> Qwen3ForCausalLM:
    """Other weights than the start's, so that no measure is that of the start."""
    model = Qwen3ForCausalLM.from_pretrained(start / "model", dtype=torch.float32)
    torch.manual_seed(3)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value), alpha=0.05)
    return model.eval()


@pytest.fixture
def run(tmp_path: Path, start: Path, trained: Qwen3ForCausalLM) -> Path:
    """A run that has ended after two steps."""
    text = run_config(
        start / "model",
        f"data.train_files={start}/train.parquet",
        f"data.val_files={start}/test.parquet",
        "actor_rollout_ref.actor.optim.lr=3e-4",
        algorithm="gvpo",
    )
    checkpoint = tmp_path / "run" / "checkpoints" / "global_step_2"
    shutil.copytree(start / "model", checkpoint / "actor" / "huggingface")
    (checkpoint / "actor" / "huggingface" / "model.safetensors").unlink()
    (checkpoint / "config.yaml").write_text(text)
    write_inputs(OmegaConf.create(text), checkpoint)
    torch.save(trained.state_dict(), checkpoint / "actor" / "model_world_size_1_rank_0.pt")
    seal(checkpoint, step=2, ranks=1)
    (tmp_path / "run" / "config.yaml").write_text(text)
    steps = [{"step": step, "pacs/response_tokens/generated_sum": 1000.0 + step} for step in (1, 2)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in steps))
    return tmp_path / "run"


def test_it_is_what_the_laboratory_says_of_the_same_weights(run: Path, start: Path, trained: Qwen3ForCausalLM) -> None:
    found = measure(run, 2, EVALUATION, seed=4)
    tokenizer = AutoTokenizer.from_pretrained(start / "model", padding_side="left")
    problems = read_problems(start / "test.parquet").of(range(5))
    expected = evaluate(trained, tokenizer, problems, samples=40, max_tokens=64, seed=4)
    assert found["evaluation"] == expected
    assert expected["entropy"] > 0.1
    first = Qwen3ForCausalLM.from_pretrained(start / "model", dtype=torch.float32).eval()
    assert evaluate(first, tokenizer, problems, samples=40, max_tokens=64, seed=4)["entropy"] != expected["entropy"]
    about = {name: value for name, value in found.items() if name != "evaluation"}
    assert about == {"start": start_digest(start), "lr": 3e-4, "tokens": 2003}


def test_a_start_that_is_another_by_now_is_refused(run: Path, start: Path) -> None:
    make_tiny_start(start, test=5)
    with pytest.raises(UserError, match=r"test\.parquet holds something else .*: make the start again as it was"):
        measure(run, 2, EVALUATION, seed=4)


def test_a_run_from_elsewhere_is_refused(run: Path, start: Path) -> None:
    (start / "manifest.json").unlink()
    with pytest.raises(UserError, match="is not there as part of a start of the laboratory"):
        measure(run, 2, EVALUATION, seed=4)


def test_a_run_whose_last_checkpoint_is_damaged_is_not_measured_by_the_one_before(run: Path) -> None:
    with pytest.raises(UserError, match="its newest whole checkpoint is of step 2, not 3"):
        measure(run, 3, EVALUATION, seed=4)


def test_a_run_that_cannot_be_measured_is_told_and_the_others_are(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the laboratory's 96 problems this start has six, so the question here asks of five."""
    asked = replace(questions.read(QUESTION), evaluation=EVALUATION, settings={"steps": 2})
    monkeypatch.setattr(questions, "read", lambda name: asked)
    both = [
        OF_A_RUN
        | {"name": name, "algorithm": "gvpo", "seed": seed, "settings": {"algorithm": "gvpo"}, "state": "finished"}
        | {"step": 2, "total_steps": 2}
        for seed, name in enumerate(("gone", "run"))
    ]
    (tmp_path / "results.json").write_text(json.dumps(OF_A_FILE | {"runs": both}))
    assert not add(tmp_path, tmp_path / "measured.jsonl")
    said = capsys.readouterr()
    assert "gone cannot be measured: " in said.err
    assert "2 of 2 runs are finished, 2 to be measured" in said.out
    assert [(one["method"], one["seed"], one["commit"]) for one in read(tmp_path / "measured.jsonl")] == [
        ("gvpo", 1, "abc")
    ]
    add(tmp_path, tmp_path / "measured.jsonl")
    assert "2 of 2 runs are finished, 1 to be measured" in capsys.readouterr().out


def test_a_shorter_run_is_no_arm_of_the_laboratory(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {"name": "run", "algorithm": "gvpo", "seed": 0, "settings": {"algorithm": "gvpo"}, "state": "finished"}
    short |= OF_A_RUN | {"step": 2, "total_steps": 2}
    (tmp_path / "results.json").write_text(json.dumps(OF_A_FILE | {"runs": [short]}))
    assert not add(tmp_path, tmp_path / "measured.jsonl")
    assert "run cannot be measured: it has 2 steps, and the laboratory's runs 40" in capsys.readouterr().err
    assert read(tmp_path / "measured.jsonl") == []


def test_what_tells_runs_apart() -> None:
    one = {"name": "pacs-seed_3", "algorithm": "pacs", "seed": 3, "settings": {"algorithm": "pacs", "data.seed": "3"}}
    assert key(one, "countdown") == {"task": "countdown", "method": "pacs", "seed": 3}
    more = copy.deepcopy(one)
    more["settings"]["method.beta"] = "0.5"  # type: ignore[index]
    with pytest.raises(UserError, match=r"its sweep varies method\.beta, too"):
        key(more, "countdown")
