"""What is trained on in place of labels: beside sums and probabilities by hand, where answers are words."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.base.errors import UserError
from recipes.laboratory import learner
from recipes.laboratory.beginning import Beginning, read_beginning
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.grading import grade
from recipes.laboratory.loop import run
from recipes.laboratory.rewards import Rewards
from recipes.laboratory.sampling import Samples, sample
from recipes.laboratory.settings import Settings
from recipes.spelled_sums.problems import TASK, is_right
from recipes.starts.make import make
from recipes.starts.read import Problems

OPENS = "\\boxed{"
RLPR = {"method": "pacs", "graded_by": "reference_probability"}
VINE = {"method": "vineppo", "vine": {"completions": 2}}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spelled_sums") / "start"
    make(TASK, folder, 0)
    return folder


@pytest.fixture(scope="module")
def begun(start: Path) -> Beginning:
    return read_beginning(start, prompts=1, split="test", problems=1, train_problems=40)


@pytest.fixture(scope="module")
def sampled(begun: Beginning) -> tuple[Samples, Problems]:
    """Four responses to each of twelve prompts, and the problem of each; two of them open no answer."""
    rows = list(range(12))
    generator = torch.Generator().manual_seed(0)
    samples = sample(
        begun.policy, begun.tokenizer, begun.train.of(rows).messages, samples=4, max_tokens=56, generator=generator
    )
    cut = samples.response_mask.clone()
    cut[:2, 6:] = False
    texts = [text[:6] if row < 2 else text for row, text in enumerate(samples.texts)]
    return dataclasses.replace(samples, response_mask=cut, texts=texts), begun.train.of(
        [r for r in rows for _ in "1234"]
    )


def probability(begun: Beginning, problem: str, before: str, answer: str) -> float:
    """The mean probability of an answer's tokens, read by transformers as one text."""
    tokenizer = begun.tokenizer
    messages = [{"role": "user", "content": problem}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    first = tokenizer(prompt + before, return_tensors="pt")["input_ids"]
    whole = tokenizer(prompt + before + answer, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        known = begun.policy(input_ids=whole).logits[0].softmax(-1)
    places = range(first.shape[1], whole.shape[1])
    return math.fsum(float(known[place - 1, whole[0, place]]) for place in places) / len(places)


def test_several_numbers_are_no_answer() -> None:
    texts = ["\\boxed{that makes eighty-five}", "\\boxed{seventy-five or eighty-five}", "eighty-five"]
    assert grade(texts, ["it is eighty-five"] * 3, [TASK.verifier] * 3).tolist() == [1, 0, 0]


def test_labels_are_of_the_number_in_any_wording(sampled: tuple[Samples, Problems]) -> None:
    samples, problems = sampled
    labels = grade(samples.texts, problems.answers, problems.verifiers)
    asked = [messages[0]["content"] for messages in problems.messages]
    assert labels.tolist() == [float(is_right(*each)) for each in zip(asked, samples.texts, strict=True)]
    assert 0 < labels.mean() < 1
    exact, trained = Rewards(begun_of(problems), Settings(graded_by="exact_match")).of(samples, labels, problems)
    boxed = [text.rpartition(OPENS)[2].partition("}")[0] for text in samples.texts]
    assert exact.tolist() == [float(said == answer) for said, answer in zip(boxed, problems.answers, strict=True)]
    assert exact.sum() < labels.sum()
    assert trained is samples


def begun_of(problems: Problems) -> Any:
    """What the verifiers that read no model need of a beginning."""
    return dataclasses.make_dataclass("Begun", ["train", "max_response_tokens"])(problems, 56)


@pytest.mark.parametrize("train_answer", [False, True])
def test_the_right_answer_s_probability_and_what_is_trained(
    begun: Beginning, sampled: tuple[Samples, Problems], train_answer: bool
) -> None:
    samples, problems = sampled
    rewards, trained = Rewards(begun, Settings(**RLPR, train_answer=train_answer)).of(
        samples, torch.zeros(len(samples)), problems
    )
    width = trained.response_mask.shape[1]
    for row, (text, answer) in enumerate(zip(samples.texts, problems.answers, strict=True)):
        asked = problems.messages[row][0]["content"]
        tokens = trained.ids[row, -width:][trained.response_mask[row]]
        kept = begun.tokenizer.decode(tokens, skip_special_tokens=True)
        if OPENS not in text:
            assert (float(rewards[row]), kept) == (0.0, text)
            continue
        before = text[: text.rindex(OPENS) + len(OPENS)]
        gained = probability(begun, asked, before, answer) - probability(begun, asked, OPENS, answer)
        assert float(rewards[row]) == pytest.approx(max(0.0, gained), abs=1e-5)
        assert kept == (text if train_answer else before)
        same = samples.log_probs[row, : len(tokens)]
        assert torch.equal(trained.log_probs[row, : len(tokens)], same)
        assert not trained.log_probs[row, len(tokens) :].any()
    assert {OPENS in text for text in samples.texts} == {True, False}
    assert (rewards > 0.05).any()


def test_parts_are_added_to_labels(begun: Beginning, sampled: tuple[Samples, Problems]) -> None:
    """By hand: a box, and half a cosine over the budget, which right responses lose."""
    samples, problems = sampled
    labels = grade(samples.texts, problems.answers, problems.verifiers)
    reward = {"total": "sum", "correctness": 0.9, "format": {"weight": 0.1}, "length": {"weight": 0.5, "budget": 100}}
    rewards, trained = Rewards(begun, Settings(method="grpo", reward=reward)).of(samples, labels, problems)
    assert trained is samples
    for row, (label, text) in enumerate(zip(labels.tolist(), samples.texts, strict=True)):
        tokens = int(samples.response_mask[row].sum())
        loses = 0.5 * -0.5 * (1 - math.cos(math.pi * tokens / 100)) / 2 if label else 0.0
        boxed = OPENS in text and "}" in text.rpartition(OPENS)[2]
        assert float(rewards[row]) == pytest.approx(0.9 * label + 0.1 * boxed + loses, abs=1e-6)
    clipped = {"total": "clip", "overlong": {"weight": 3.0, "buffer": 50}}
    held, _ = Rewards(begun, Settings(reward=clipped)).of(samples, labels, problems)
    lengths = samples.response_mask.sum(1)
    wanted = (labels + 3 * ((56 - 50 - lengths) / 50).clamp(-1, 0)).clamp(0, 1)
    assert torch.allclose(held, wanted, atol=1e-6)


def test_a_run_trains_on_rewards_and_counts_labels(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []
    real = learner.method_loss

    def noted(*given: Any, **options: Any) -> Any:
        seen.append(given[3])
        return real(*given, **options)

    monkeypatch.setattr(learner, "method_loss", noted)
    evaluation = Evaluation(problems=4, samples=6, samples_between=3)
    reward = {"total": "sum", "correctness": 0.9, "format": {"weight": 0.1}}
    settings = Settings(**RLPR, reward=reward, steps=2, prompts=6, responses=4, train_problems=40)
    first, second = (run(start, settings, evaluation, print)["curve"] for _ in "12")
    assert [{**point, "seconds": 0} for point in first] == [{**point, "seconds": 0} for point in second]
    assert all(0 < float(labels.max()) < 1 for labels in seen)
    assert {round(point["reward"] * 24) for point in first} <= {*range(25)}
    assert first[0]["tokens"] > 24 * first[0]["response_tokens_mean"]  # the answers are sampled and not trained


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"reward": {"format": {"weight": 0.1}}}, "reward has no total"),
        ({"reward": {"total": "summ"}}, "reward.total=summ is not known"),
        ({"reward": {"total": "clip", "judge": {"weight": 1.0}}}, "reward.judge"),
        ({"graded_by": "exact"}, "graded_by=exact is not known.*Did you mean exact_match"),
        ({"train_answer": True}, "train_answer=true is of graded_by=reference_probability alone"),
        ({**RLPR, "staleness": 1}, "with staleness is not built"),
        ({**VINE, "graded_by": "exact_match"}, "vine with reward or graded_by is not built"),
        ({**VINE, "reward": {"total": "sum"}}, "vine with reward or graded_by is not built"),
        ({**RLPR, "dars": {"schedule": "equal"}}, "graded_by=reference_probability with dars is not built"),
        ({**RLPR, "pool": {"weights": "sqrt"}}, "graded_by=reference_probability with pool is not built"),
        ({"method": "dapo", "graded_by": "exact_match"}, "graded_by=exact_match with rounds is not built"),
        ({**RLPR, "method": "nft"}, "method=nft trains on right and wrong responses alone"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**settings)
