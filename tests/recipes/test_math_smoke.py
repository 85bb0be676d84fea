"""The recipe for real, on a small file of hand-written problems: prepared, and trained on for three steps."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pacs.rewards.registry import compute_score
from recipes.math_smoke.make import make

FILE = Path(__file__).with_name("problems.json")
#: Of the file: one is there twice, one is too long, and one has an answer that cannot be verified.
KEPT = 12
STEPS, PROMPTS, RESPONSES = 3, 8, 4  # every prepared problem and every easy one once


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the recipe makes of the file."""
    out = tmp_path_factory.mktemp("math_smoke")
    make(str(FILE), out, "question", "answer")
    return out


@pytest.fixture(scope="module")
def run(made: Path) -> Path:
    """The folder of a run of the recipe."""
    folder = made / "run"
    command = [
        sys.executable, "-m", "pacs", "train", "recipe=math_smoke",
        f"actor_rollout_ref.model.path={made / 'model'}",
        f"data.train_files=[{made / 'real/train.parquet'},{made / 'easy/train.parquet'}]",
        f"data.val_files={made / 'real/train.parquet'}",
        f"data.train_batch_size={PROMPTS}",
        "data.max_response_length=128",
        f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS // 2}",
        f"run.sample_groups={PROMPTS}",
        "run.rollouts.seeded=true",
        f"run.dir={folder}",
    ]  # fmt: skip
    env = {key: value for key, value in os.environ.items() if key != "VERL_PLATFORM"}
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    assert result.returncode == 0, result.stdout[-6000:]
    return folder


@pytest.fixture(scope="module")
def steps(run: Path) -> list[dict[str, float]]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def samples(run: Path) -> list[dict]:
    """All responses of all steps."""
    files = [run / f"samples/train/{step}.jsonl" for step in range(1, STEPS + 1)]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_file_without_the_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        make(str(FILE), tmp_path / "out", "problem", "answer")
    assert "has no column problem; it has question, answer" in capsys.readouterr().err
    assert not (tmp_path / "out" / "real").exists()


@pytest.mark.long
def test_what_cannot_be_used_is_counted(made: Path) -> None:
    manifest = json.loads((made / "real" / "manifest.json").read_text())
    assert manifest["dropped"] == {"duplicate": 1, "overlong": 1, "unverifiable": 1}
    assert manifest["kept"] == KEPT == json.loads((made / "easy" / "manifest.json").read_text())["kept"]


@pytest.mark.long
def test_three_steps_are_finite(steps: list[dict[str, float]]) -> None:
    assert [line["step"] for line in steps if "timing_s/step" in line] == [1, 2, 3]
    assert [key for line in steps for key, value in line.items() if not math.isfinite(value)] == []
    assert all(line["actor/grad_norm"] > 0 for line in steps if "timing_s/step" in line)


@pytest.mark.long
def test_the_prompts_and_golds_are_the_files(samples: list[dict]) -> None:
    """Every problem is trained on once; what the tokenizer does not know is one token, which is not shown."""
    problems = json.loads(FILE.read_text())[:KEPT]
    shown = Counter(sample["input"] for sample in samples)
    assert len(samples) == STEPS * PROMPTS * RESPONSES
    assert set(shown.values()) == {RESPONSES}
    for problem in problems:
        question = "".join(character for character in problem["question"] if character.isascii())
        assert sum(question in prompt for prompt in shown) == 1, question
    golds = {sample["gts"] for sample in samples}
    assert {problem["answer"] for problem in problems} <= golds


@pytest.mark.long
def test_responses_are_right_wrong_and_cut_off(steps: list[dict[str, float]], samples: list[dict]) -> None:
    trained = [line for line in steps if "timing_s/step" in line]
    assert sum(line["pacs/truncated_fraction"] for line in trained) > 0
    assert sum(line["pacs/groups/mixed_fraction"] for line in trained) > 0
    statuses = Counter(status for status, _ in graded(samples))
    assert statuses["wrong"] > 0
    assert statuses["correct"] == sum(sample["score"] for sample in samples)
    for status in ("correct", "no_answer"):  # no machine is too slow for these: they need no algebra
        assert statuses[status] > 0
        logged = sum(line[f"pacs/verifier/{status}_fraction"] for line in trained) / STEPS
        assert logged == pytest.approx(statuses[status] / len(samples))


@pytest.mark.long
def test_answers_are_compared_with_golds_in_latex(samples: list[dict]) -> None:
    compared = [gold for status, gold in graded(samples) if status == "wrong" and "\\" in gold]
    assert len(set(compared)) > 1


def graded(samples: list[dict]) -> list[tuple[str, str]]:
    """The verifier's status of each response, once more, and the gold answer."""
    return [(compute_score("", sample["output"], sample["gts"])["status"], sample["gts"]) for sample in samples]
