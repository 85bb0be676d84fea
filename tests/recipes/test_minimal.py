"""recipes/minimal.py: its update is the stack's on the same rows, its command works alone, and it stays a page."""

import copy
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from pacs.algorithm import Pacs, ReferenceConfig
from recipes import minimal
from recipes.arithmetic.make import _source_hash
from recipes.arithmetic.measure import Prompts, Responses
from recipes.arithmetic.model import build_model
from recipes.arithmetic.problems import split_problems, write_parquet
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.minimal import Settings
from tests.integration.worker.test_worker import relative_error, run_ranks
from tests.integration.worker.worker_case import GROUP, Row, deal_out, make_rows, mini_batches, tiny_model

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "recipes" / "minimal.py"
PROMPTS, BETA, LR, CLIP = 8, 0.7, 1e-3, 2.0

# The update, beside the stack's


def whole_groups() -> list[Row]:
    """As many responses to each prompt; every third group of `make_rows` lacks one."""
    return [row for row in make_rows(groups=12, seed=3) if int(row.uid) % 3 != 1]


def as_responses(rows: list[Row]) -> Responses:
    """As `generate` gives them: prompts padded on the left, responses on the right; other tokens as padding."""

    def padded(values: list[list[int]], fill: int, side: str) -> torch.Tensor:
        tensors = [torch.tensor(value) for value in values]
        return pad_sequence(tensors, batch_first=True, padding_value=fill, padding_side=side)

    prompts, responses = [row.prompt for row in rows], [row.response for row in rows]
    seen = [[[1] * len(value) for value in values] for values in (prompts, responses)]
    return Responses(
        ids=torch.cat([padded(prompts, 5, "left"), padded(responses, 7, "right")], dim=1),
        attention_mask=torch.cat([padded(seen[0], 0, "left"), padded(seen[1], 0, "right")], dim=1),
        response_mask=padded([row.mask for row in rows], 0, "right") != 0,
        texts=[""] * len(rows),
    )


def labels_of(rows: list[Row]) -> torch.Tensor:
    return torch.tensor([float(row.label) for row in rows])


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def steps_of_minimal(monkeypatch: pytest.MonkeyPatch, rows: list[Row], **settings: object) -> torch.nn.Module:
    """The policy after `minimal.train`, in which every step samples these rows."""
    policy = tiny_model("qwen3", seed=0)
    monkeypatch.setattr(minimal, "generate", lambda *_, **__: as_responses(rows))
    monkeypatch.setattr(minimal, "grade", lambda *_: labels_of(rows).view(-1, GROUP))
    prompts = len(rows) // GROUP
    problems = Prompts([[]] * prompts, [""] * prompts)
    minimal.train(policy, None, problems, Settings(prompts=prompts, responses=GROUP, lr=LR, **settings))
    return policy


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, list[Row]]:
    """verl's worker on one rank, gradient caching over FSDP2: a gradient, and three steps of two updates by Adam.

    And the rows as they were dealt out, those of a group together.
    """
    folder: Path = tmp_path_factory.mktemp("stack")
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    halves = deal_out(whole_groups(), groups_per_mini_batch=PROMPTS // 2, ranks=1, whole_groups=True)
    split = {"pacs_strategy": "cached", "use_dynamic_bsz": False, "micro_batch_size_per_gpu": 4}
    case = {
        "family": "qwen3",
        "layout": "packed",
        "temperature": 1.0,
        "optimizer": "AdamW",
        "learning_rate": LR,
        "overrides": [
            "actor_rollout_ref.actor.optim.weight_decay=0",
            f"actor_rollout_ref.actor.optim.clip_grad={CLIP}",
        ],
        "ways": {"cached": (Pacs(beta=BETA), halves, split, False)},
        "steps": {
            forget: (
                Pacs(beta=BETA, reference=ReferenceConfig(reset_every=2, reset_optimizer=forget)),
                halves,
                split,
                1,
            )
            for forget in (True, False)
        },
    }
    torch.save({"case": case}, folder / "cases_1.pt")
    results = run_ranks(folder, 1)["case"]
    rows = [row for half in mini_batches(halves, 2) for row in sorted(half, key=lambda row: row.uid)]
    return results, rows


def test_the_gradient_is_the_stacks(stack: tuple[dict, list[Row]]) -> None:
    results, rows = stack
    policy, reference = tiny_model("qwen3", seed=0), tiny_model("qwen3", seed=1)
    before = copy.deepcopy(reference.state_dict())
    groups = torch.tensor([int(row.uid) for row in rows])
    sgd = torch.optim.SGD(policy.parameters(), lr=0.1)
    settings = Settings(beta=BETA, clip_grad=1e9)
    _, norm = minimal.update(policy, reference, sgd, as_responses(rows), labels_of(rows), groups, settings)
    gradient = {name: value.grad for name, value in policy.named_parameters()}
    expected = results["cached"]["gradient"]
    assert relative_error(gradient, expected) < 1e-5
    assert norm == pytest.approx(float(torch.stack([g.norm() for g in expected.values()]).norm()), rel=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in reference.state_dict().items())


@pytest.mark.parametrize("forget", [True, False])
def test_three_steps_end_at_the_stacks_weights(
    forget: bool, stack: tuple[dict, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two updates a step, clipped; after the second step a reset, at which Adam forgets its moments or not."""
    results, rows = stack
    settings = {"steps": 3, "updates_per_step": 2, "reset_every": 2, "reset_optimizer": forget}
    policy = steps_of_minimal(monkeypatch, rows, beta=BETA, clip_grad=CLIP, **settings)
    start, own = weights_of(tiny_model("qwen3", seed=0)), weights_of(policy)
    assert relative_error(own, results[forget]["weights"], base=start) < 1e-4
    assert relative_error(own, results[not forget]["weights"], base=start) > 0.1


def test_a_new_adam_warms_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam's first updates move some weight by the learning rate: a quarter, then a half, and after a reset a quarter.

    (None by more, in the second by a thousandth.)
    """
    settings = {"updates_per_step": 1, "reset_every": 2, "lr_warmup_updates": 4}
    ends = [weights_of(steps_of_minimal(monkeypatch, whole_groups(), steps=steps, **settings)) for steps in range(1, 4)]
    path = [weights_of(tiny_model("qwen3", seed=0)), *ends]
    moved = [max(float((b[name] - a[name]).abs().max()) for name in a) for a, b in pairwise(path)]
    assert moved == pytest.approx([LR / 4, LR / 2, LR / 4], rel=1e-2)


def sampled(seed: int) -> torch.Tensor:
    """The tokens of two steps of an untrained model."""
    tokenizer, seen = build_tokenizer(4096), []
    problems = Prompts([[{"role": "user", "content": f"{i}+{i}"}] for i in range(10, 50)], ["0"] * 40)

    def generate(*given: Any, samples: int) -> Responses:
        responses = real_generate(*given, samples=samples)
        seen.append(responses.ids)
        return responses

    real_generate = minimal.generate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimal, "generate", generate)
        settings = Settings(steps=2, prompts=4, responses=2, seed=seed)
        minimal.train(build_model(tokenizer, seed=0), tokenizer, problems, settings)
    return torch.stack(seen)


def test_the_same_settings_sample_the_same() -> None:
    ids = sampled(seed=0)
    assert torch.equal(sampled(seed=0), ids)
    prompts, others = ids[:, :, :-24], sampled(seed=1)
    assert not torch.equal(others[:, :, :-24], prompts)
    assert not torch.equal(prompts[0], prompts[1])
    assert not torch.equal(ids[0, 0], ids[0, 1])


# The page


def test_it_is_a_page() -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 250


# The command


def make_start(folder: Path) -> None:
    """A start that `make` takes for its own: the model untrained, 64 problems, and 8 held out."""
    tokenizer, problems = build_tokenizer(4096), split_problems(seed=0)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_parquet(problems.train[:64], folder / "train.parquet", "train")
    write_parquet(problems.test[:8], folder / "test.parquet", "test")
    before = {"greedy": 0.125, "pass@1": 0.25, "pass@8": 0.375, "entropy": 1.5, "response_length_tokens": 12.5}
    (folder / "before.json").write_text(json.dumps(before))
    (folder / "manifest.json").write_text(json.dumps({"seed": 0, "family": "qwen3", "sources": _source_hash()}))


def command(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A script as a stranger starts it, from another folder and without PYTHONPATH."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)
    given = [sys.executable, "-X", "importtime", str(ROOT / script), *arguments]
    finished = subprocess.run(given, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr[-3000:]
    return finished


def test_a_tiny_run_prints_its_lines_and_needs_no_stack(tmp_path: Path) -> None:
    make_start(tmp_path / "outputs" / "minimal" / "seed0")
    few = ("--prompts", "4", "--responses", "2", "--updates-per-step", "2")
    finished = command(tmp_path, "recipes/minimal.py", "--steps", "2", *few)
    lines = finished.stdout.splitlines()[1:]  # after the line of `make`
    for step, line in enumerate(lines[:2], 1):
        assert re.fullmatch(rf"step {step}/2: reward 0\.\d+, loss 0\.693, gradient norm \d\.\d+, \d+ s", line)
    assert lines[2] == "held-out problems, before -> after:"
    measured = [re.fullmatch(r" +(\S+) +(\S+) -> +(\S+)", line).groups() for line in lines[3:]]
    names = ("greedy", "pass@1", "pass@8", "entropy", "response_length_tokens")
    assert [name for name, _, _ in measured] == list(names)
    assert [float(before) for _, before, _ in measured] == [0.125, 0.25, 0.375, 1.5, 12.5]
    after = {name: float(value) for name, _, value in measured}
    assert after["greedy"] == 0  # the model is untrained
    assert after["entropy"] > 3

    imported = {
        line.rpartition("|")[2].strip() for line in finished.stderr.splitlines() if line.startswith("import time:")
    }
    assert {"torch", "pacs.algorithm"} <= imported
    stack = ("verl", "ray", "vllm", "tensordict", "hydra", "pacs.integration")
    assert [name for name in imported if f"{name}.".startswith(tuple(f"{module}." for module in stack))] == []


@pytest.mark.long
def test_the_benchmark_trains_by_it(tmp_path: Path) -> None:
    make_start(tmp_path / "work" / "seed0")
    files = ("--work", "work", "--out", "results.json")
    swept = ("--reset-every", "3", "--optimizer", "reset", "--lr", "3e-4", "--clip", "inf", "--beta", "2")
    size = ("--steps", "1", "--prompts", "2", "--responses", "2", "--updates-per-step", "2", "--lr-warmup-updates", "7")
    printed = command(tmp_path, "benchmarks/reference_schedule.py", *files, *swept, *size).stdout
    assert "step 1/1: reward" in printed
    assert "| K=3, Adam reset, 2 updates a step, lr 0.0003, beta 2, clip inf | 1 |" in printed
    [result] = json.loads((tmp_path / "results.json").read_text())
    size_and_updates = {"steps": 1, "prompts": 2, "responses": 2, "updates_per_step": 2, "lr_warmup_updates": 7}
    settings = Settings(**size_and_updates, reset_every=3, beta=2.0, lr=3e-4, clip_grad=float("inf"))
    assert result["setting"] == asdict(settings)
    assert [point["step"] for point in result["curve"]] == [1]


@pytest.mark.long
def test_it_learns(tmp_path: Path) -> None:
    """From the real start, ten of its twenty steps: on held-out problems, pass@1 grows by more than a half."""
    printed = command(tmp_path, "recipes/minimal.py", "--steps", "10").stdout
    measured = re.search(r"pass@1 +(\S+) -> +(\S+)", printed)
    before, after = map(float, measured.groups())
    assert after > 1.5 * before


def parse(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Settings:
    monkeypatch.setattr(sys, "argv", ["minimal.py", *arguments])
    return minimal.parse()


def test_options_are_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(monkeypatch) == Settings()
    given = "--steps 3 --prompts 6 --responses 4 --updates-per-step 3 --reset-every never --beta 0.5 --lr 1e-3 --seed 7"
    values = {"steps": 3, "prompts": 6, "responses": 4, "updates_per_step": 3, "beta": 0.5, "lr": 1e-3, "seed": 7}
    assert parse(monkeypatch, *given.split()) == Settings(reset_every=None, **values)
    assert parse(monkeypatch, "--reset-every", "9") == Settings(reset_every=9)


def test_a_start_that_cannot_be_made_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outputs" / "minimal" / "seed7").mkdir(parents=True)
    (tmp_path / "outputs" / "minimal" / "seed7" / "thesis.tex").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["minimal.py", "--seed", "7"])
    with pytest.raises(SystemExit, match=r"^minimal\.py: error: .*holds other files \(thesis\.tex\)"):
        minimal.main()


def test_help_says_what_it_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse(monkeypatch, "--help")
    shown = capsys.readouterr().out
    assert "python recipes/minimal.py" in shown
    assert re.search(r"--reset-every X +steps from one reset [\w\s,]+ \(default:\s+5\)", shown)
