"""RLPR for real (Ray, vLLM, FSDP2): measured as by a plain forward pass, trained, killed, gone on with to the bit."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pacs.data.baseline import baseline_file, read_baseline_file
from recipes.spelled_sums.problems import TASK
from recipes.starts.make import make
from recipes.starts.read import read_problems
from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RealRun, equal
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, PROMPTS, OPENS = 4, 8, "\\boxed{"
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "reward.custom_reward_function.path=pkg://pacs.rewards.registry",
    f"data.max_response_length={TASK.max_response_tokens}",
    f"data.train_batch_size={PROMPTS}",
    "data.train_max_samples=64",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS // 2}",
    "actor_rollout_ref.actor.optim.lr=1e-4",
    f"run.sample_groups={PROMPTS}",
    "run.reward.total=sum",
    "run.reward.correctness=0.9",
    "run.reward.format.weight=0.1",
    "run.rlpr.std_filter.share=0.9",
    "run.rlpr.std_filter.first_step=3",
)
ANSWERED = "run.rlpr.answer_weight=1"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that makes mistakes and answers in words of its own, and its problems with their baselines."""
    folder = tmp_path_factory.mktemp("spelled") / "start"
    make(TASK, folder, 0)
    command = [sys.executable, "-m", "pacs", "data", "baseline", str(folder / "model")]
    subprocess.run([*command, "--data", str(folder / "train.parquet"), str(folder / "test.parquet")], check=True)
    return folder


def make_run(start: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    data = [f"data.train_files={start / 'train.parquet'}", f"data.val_files={start / 'test.parquet'}"]
    repeatable = REPEATABLE if algorithm == "pacs" else REPEATABLE_BASELINE
    return RealRun(start, folder, *repeatable, *SETTINGS, *data, *overrides, algorithm=algorithm)


@pytest.fixture(scope="module")
def left_alone(start: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(start, tmp_path_factory.mktemp("rlpr") / "alone", ANSWERED)
    run.train()
    return run


@pytest.fixture
def broken(start: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(start, tmp_path / "broken", ANSWERED)
    yield run
    run.end()


class Plain:
    """The model that a run begins with, by a forward pass over one sequence at a time."""

    def __init__(self, start: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(start / "model")

    @torch.no_grad()
    def probability(self, question: str, reasoning: str, answer: str) -> float:
        """The mean probability of an answer's tokens behind a prompt and a reasoning; each character is a token."""
        messages = [{"role": "user", "content": question}]
        prompt = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        before = [*prompt, *self.tokenizer.encode(reasoning + OPENS, add_special_tokens=False)]
        answered = self.tokenizer.encode(answer, add_special_tokens=False)
        logits = self.model(torch.tensor([before + answered])).logits[0, len(before) - 1 : -1]
        return float(logits.softmax(-1).gather(-1, torch.tensor(answered)[:, None]).mean())


def test_baselines_are_those_of_a_plain_forward_pass(start: Path) -> None:
    plain, found = Plain(start), read_baseline_file(baseline_file(start / "test.parquet")).problems
    problems = read_problems(start / "test.parquet")
    assert len(found) == len(problems)
    for each, messages, answer in zip(found, problems.messages, problems.answers, strict=True):
        assert each.probability == pytest.approx(plain.probability(messages[0]["content"], "", answer), abs=1e-4)


def check_first_step(run: RealRun, start: Path) -> None:
    """What is measured in the first step, by the model that the run begins with; and what is made of it."""
    plain, rows = Plain(start), run.samples(1)
    assert len(rows) == PROMPTS * 4
    probabilities = []
    for row in rows:
        question, (reasoning, opens, _) = row["input"].strip(), row["output"].rpartition(OPENS)
        probabilities.append(plain.probability(question, reasoning, row["gts"]) if opens else 0.0)
        score = max(probabilities[-1] - plain.probability(question, "", row["gts"]), 0)
        assert row["correctness"] == pytest.approx(score, abs=1e-4)
    assert sum(OPENS in row["output"] for row in rows) > 0.9 * len(rows)
    mean = sum(probabilities) / len(rows)
    assert run.training_steps()[0]["pacs/reward/probability/mean"] == pytest.approx(mean, abs=1e-4)


def test_vllm_measures_what_a_plain_forward_pass_does(left_alone: RealRun, start: Path) -> None:
    check_first_step(left_alone, start)
    # The reference answer stands in place of the sampled one.
    rows = [row for row in left_alone.samples(1) if OPENS in row["output"]]
    assert sum(row["output"].endswith(OPENS + row["gts"]) for row in rows) == len(rows)


def test_each_step_rewards_and_leaves_groups_out(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        assert line["pacs/rlpr/answered_fraction"] > 0.9
        assert 0.8 < line["pacs/rlpr/answer_probability_mean"] <= 1
        assert 0 < line["pacs/std_filter/usual_mean"] < 1
    rows = left_alone.samples(1)
    rewards = [0.9 * row["correctness"] + 0.1 * row["format"] for row in rows]
    assert lines[0]["critic/rewards/mean"] == pytest.approx(sum(rewards) / len(rewards))
    dropped = [line["pacs/std_filter/dropped_count"] for line in lines]
    assert dropped[:2] == [0, 0]
    assert sum(dropped[2:]) > 0
    assert not equal(left_alone.policy(STEPS), left_alone.policy(STEPS - 1))


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=2)
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))


def test_verls_grpo_trains_on_it_too(start: Path, tmp_path: Path) -> None:
    run = make_run(start, tmp_path / "grpo", algorithm="grpo")
    run.train()
    check_first_step(run, start)
    # What was sampled is shown, and its answer is another than the reference in most rows.
    rows = run.samples(1)
    assert any(not row["output"].endswith(f"{OPENS}{row['gts']}}}") for row in rows)
    lines = run.training_steps()
    assert sum(line["pacs/std_filter/dropped_count"] for line in lines) > 0
    assert not equal(run.policy(STEPS), run.policy(STEPS - 1))
    # An answer without a gradient was generated, too.
    written, reasoning = (
        sum(len(part) for part in parts)
        for parts in zip(*((row["output"], row["output"].rpartition(OPENS)[0] + OPENS) for row in rows), strict=True)
    )
    assert reasoning < lines[0]["pacs/response_tokens/generated_sum"] == pytest.approx(written + len(rows), rel=0.02)
