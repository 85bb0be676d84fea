"""Distillation in the laboratory: the teacher is the run that it is said to be, its credit what verl's loss takes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

from pacs.algorithm.distillation import TEACHER
from pacs.base.errors import UserError
from recipes.laboratory import loop, rollouts, teacher
from recipes.laboratory.methods import method_named
from recipes.laboratory.settings import Settings
from recipes.laboratory.teacher import read_teacher
from tests.recipes.laboratory.recorded import EVALUATION, ROUNDING, SMALL, Recorded, plain_policy
from tests.recipes.laboratory.test_equations import adam, of_rows, passed
from tests.recipes.laboratory.tiny import make_tiny_start, odd, relative_error, weights_of

TAUGHT = {"method": "grpo", "steps": 3, "prompts": 6, "responses": 4, "lr": 1e-3, "seed": 9}


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rollouts, "grade", odd)
    return make_tiny_start(tmp_path / "start")


def test_the_teacher_is_the_policy_that_its_run_leaves_and_is_trained_once(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(method="distillation", teacher=TAUGHT, **SMALL)
    lines: list[str] = []
    taught = read_teacher(start, settings, lines.append)
    assert taught is not None
    assert lines[-1].startswith("teacher, step 3/3: reward ")
    expected = Recorded(start, Settings(**TAUGHT)).policy
    found = weights_of(taught)
    assert all(torch.equal(value, found[name]) for name, value in weights_of(expected).items())
    monkeypatch.setattr(teacher, "_trained", None)
    again = read_teacher(start, Settings(method="pacs_distilled", teacher=TAUGHT, **SMALL), lines.append)
    assert again is not None
    assert all(torch.equal(value, found[name]) for name, value in weights_of(again).items())
    assert [path.name for path in start.parent.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(TypeError):
        read_teacher(start, Settings(method="distillation", teacher=TAUGHT | {"seed": 8}, **SMALL), lines.append)


def test_a_teacher_that_another_run_has_saved_meanwhile_stays(start: Path) -> None:
    folder = start.parent / "taught"
    teacher._save(plain_policy(start), folder)
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    teacher._save(plain_policy(start), folder)
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before
    (start.parent / "file").touch()
    with pytest.raises(OSError, match="file"):
        teacher._save(plain_policy(start), start.parent / "file" / "taught")
    assert sorted(path.name for path in start.parent.iterdir()) == ["file", "start", "taught"]


@pytest.mark.parametrize("task", [0.0, 0.5])
def test_a_run_ends_where_verls_loss_on_the_teachers_credit_leads(task: float, start: Path) -> None:
    settings = Settings(method="distillation", options={"strength": 0.7, "task": task}, teacher=TAUGHT, **SMALL)
    taught = read_teacher(start, settings, print)
    assert taught is not None
    recorded = Recorded(start, settings)
    policy = plain_policy(start)
    first, optimizer = weights_of(policy), adam(policy, settings.lr)
    config = ActorConfig(strategy="fsdp2", rollout_n=4, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2)
    for samples in recorded.samples:
        mask = samples.response_mask.float()
        labels = odd(samples.texts).view(-1, settings.responses)
        compared = ((labels - labels.mean(1, keepdim=True)) / (labels.std(1, keepdim=True) + 1e-6)).view(-1, 1)
        with torch.no_grad():
            old = passed(policy, samples)
            credit = (0.7 * (passed(taught, samples) - old) + task * compared) * mask
        for rows in (list(range(12)), list(range(12, 24))):
            own = passed(policy, of_rows(samples, rows))
            loss, _ = core_algos.compute_policy_loss_vanilla(old[rows], own, credit[rows], mask[rows], config=config)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert relative_error(weights_of(recorded.policy), weights_of(policy), first) < ROUNDING


def test_pacs_reads_the_teacher_too(start: Path) -> None:
    settings = Settings(method="pacs_distilled", teacher=TAUGHT, **SMALL)
    assert TEACHER in method_named(settings.method, settings.options).reads
    alone = loop.run(start, Settings(method="pacs_authors", **SMALL), EVALUATION, print)
    taught = loop.run(start, settings, EVALUATION, print)
    assert taught["curve"][0]["gradient_norm"] != pytest.approx(alone["curve"][0]["gradient_norm"], rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"method": "distillation"}, "method=distillation has no teacher: say its run"),
        ({"method": "distillation", "teacher": "grpo"}, "teacher='grpo': say its run, as teacher: {method: grpo"),
        ({"method": "grpo", "teacher": TAUGHT}, "teacher with method=grpo, which has none: leave it out"),
        ({"method": "distillation", "options": {"teacher": "a"}}, "options.teacher=a: in the laboratory the setting"),
        (
            {"method": "distillation", "teacher": TAUGHT | {"step": 3}},
            "teacher.step is no setting .*Did you mean steps",
        ),
        ({"method": "distillation", "teacher": TAUGHT | {"lr": 0}}, "teacher: lr=0 must be a number above 0"),
    ],
)
def test_what_does_not_go_together_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**wrong)
