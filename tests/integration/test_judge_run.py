"""A judge for real: verl starts it in GPUs of its own (here the CPU), its replies are those of a plain forward pass."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pacs.rewards.judge import Asked, Criterion, message
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.integration.real_run import REPEATABLE, RealRun, equal
from tests.metrics.page import find

#: A run takes a minute or two, on a busy machine ten.
pytestmark = [
    pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group"), pytest.mark.timeout(1800)
]  # fmt: skip

STEPS = 4
CLEAR, SHORT = (
    Criterion(question="Is it clear?", weight=3, scale=[0, 9]),
    Criterion(question="Is it short?", scale=[1, 5]),
)
#: What the judge can say: digits, of which some are off the scale of the second criterion, and a letter.
SAYS = "0123456789x"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights that says one of `SAYS`."""
    folder = tmp_path_factory.mktemp("judge")
    tokenizer = build_tokenizer(4096)
    model = build_model(tokenizer, seed=5)
    said = tokenizer.convert_tokens_to_ids(list(SAYS))
    others = torch.ones(len(tokenizer), dtype=torch.bool)
    others[said] = False
    with torch.no_grad():
        model.lm_head.weight[others] = 0
        model.lm_head.weight *= 50
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_run(task: Path, folder: Path, judge: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    criteria = json.dumps({"clear": CLEAR.model_dump(), "short": SHORT.model_dump()}).replace('"', "")
    return RealRun(
        task, folder, *REPEATABLE,
        f"trainer.total_training_steps={STEPS}",
        "trainer.val_before_train=false",
        "reward.custom_reward_function.path=pkg://pacs.rewards.registry",
        "run.sample_groups=8",
        "run.reward.total=sum",
        "run.reward.correctness=0.2",
        "run.reward.judge.weight=0.8",
        f"run.reward.judge.criteria={criteria}",
        "run.reward.judge.tokens=1",
        "reward.reward_model.enable=true",
        "reward.reward_model.enable_resource_pool=true",
        "reward.reward_model.nnodes=1",
        "reward.reward_model.n_gpus_per_node=1",
        f"reward.reward_model.model_path={judge}",
        "reward.reward_model.rollout.max_num_seqs=1",
        *overrides, algorithm=algorithm,
    )  # fmt: skip


@pytest.fixture(scope="module")
def left_alone(task: Path, judge: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(task, tmp_path_factory.mktemp("judged") / "alone", judge)
    run.train()
    return run


@pytest.fixture
def broken(task: Path, judge: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken", judge)
    yield run
    run.end()


def test_the_judge_says_what_a_plain_forward_pass_does(left_alone: RealRun, judge: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(judge).eval(), AutoTokenizer.from_pretrained(judge)
    replies = set()
    for step in range(1, STEPS + 1):
        for row in left_alone.samples(step):
            wanted, unread = {}, 0.0
            for name, criterion in (("clear", CLEAR), ("short", SHORT)):
                asked = message(criterion, Asked(row["input"].strip(), row["output"]), reference=False)
                messages = [{"role": "user", "content": asked}]
                prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")[
                    "input_ids"
                ]
                with torch.no_grad():
                    reply = tokenizer.decode(model(prompt).logits[0, -1].argmax())
                replies.add(reply)
                low, high = criterion.scale
                read = reply.isdigit() and low <= int(reply) <= high
                wanted[name] = (int(reply) - low) / (high - low) if read else 0.0
                unread = unread if read else 1.0
            if row["output"].strip():
                assert row["judge_clear"] == pytest.approx(wanted["clear"])
                assert row["judge_short"] == pytest.approx(wanted["short"])
                assert row["judge_unread"] == unread
            assert row["judge"] == pytest.approx((3 * row["judge_clear"] + row["judge_short"]) / 4)
            assert row["judge_failed"] == 0
    assert len(replies) > 1


def test_each_step_is_trained_on_the_judgement(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        rows = left_alone.samples(line["step"])
        for name in ("judge", "judge_clear", "judge_short", "judge_unread", "judge_failed"):
            assert line[f"pacs/reward/{name}/mean"] == pytest.approx(sum(row[name] for row in rows) / len(rows))
        rewards = [0.2 * row["correctness"] + 0.8 * row["judge"] for row in rows]
        assert line["critic/rewards/mean"] == pytest.approx(sum(rewards) / len(rewards))
    assert not equal(left_alone.policy(STEPS), left_alone.policy(STEPS - 1))


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=2)
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
