"""What an evaluation counts, beside responses counted by hand and a naive count."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from pacs.base.errors import UserError
from recipes.arithmetic.measure import generate
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.laboratory import evaluation
from recipes.laboratory.counting import Counts
from recipes.laboratory.evaluation import Evaluation, answer, evaluate
from recipes.laboratory.sampling import Samples
from recipes.starts.read import Problems
from tests.recipes.laboratory.tiny import odd

PROBLEMS = Problems(
    messages=[[{"role": "user", "content": text}] for text in ("1+1", "20+21", "3-2")],
    answers=["2", "41", "1"],
    bands=["easy", "hard", "easy"],
    verifiers=["math"] * 3,
)


def fixed(texts: list[str]) -> Samples:
    """Responses with these texts, of two tokens each."""
    rows = len(texts)
    ones = torch.ones(rows, 2)
    return Samples(ones.long(), ones.long(), ones.bool(), texts, -ones, ones / 4)


def test_counts_of_known_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "1+1": [r"\boxed{2}", r"so \boxed{ 2 }", r"\boxed{2.0}", r"\boxed{3}"],
        "20+21": [r"\boxed{4}"] * 4,
        "3-2": [r"\boxed{1}", "1", r"\boxed{1} \boxed{1}", r"\boxed{9} \boxed{1}"],
    }
    greedy = {"1+1": r"\boxed{2}", "20+21": r"\boxed{41}", "3-2": "none"}

    def sample(_: Any, __: Any, messages: Any, *, samples: int, max_tokens: int, generator: None) -> Samples:
        assert (samples, max_tokens) == (1, 7)
        return fixed([greedy[message[0]["content"]] for message in messages])

    def count(_: Any, __: Any, messages: Any, *, samples: int, max_tokens: int, generator: torch.Generator) -> Counts:
        assert max_tokens == 7
        drawn = [Counter(texts[message[0]["content"]]) for message in messages]
        return Counts(drawn, 2 * samples * len(drawn), 0.5 * samples * len(drawn))

    monkeypatch.setattr(evaluation, "sample", sample)
    monkeypatch.setattr(evaluation, "count", count)
    found = evaluate(None, None, PROBLEMS, samples=4, max_tokens=7, seed=0)
    assert found["right"][:2] == [3, 0]
    assert found["distinct"][:2] == [2, 0]
    assert found["right"][2] in (3, 4)  # whether an answer needs its box is the verifier's to say
    assert found["distinct"][2] == 1
    of_first = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert found["right_entropy"] == pytest.approx((of_first + 0) / 2)
    assert found["greedy"] == pytest.approx(2 / 3)
    assert found["entropy"] == 0.25
    assert found["response_tokens_mean"] == 2
    assert found["samples"] == 4


def test_an_answer_is_what_is_boxed_without_white_space() -> None:
    assert answer(r"3*2=6 \boxed{ (3 * 2) + 1 }", "math") == "(3*2)+1"
    assert answer(r"\boxed{1} then \boxed{2}", "math") == "2"
    assert answer(r"<think>\boxed{1}</think> \boxed{\frac{1}{2}}", "math") == r"\frac{1}{2}"
    assert answer(" the answer is 7 ", "math") == "theansweris7"


def test_expressions_that_differ_in_order_alone_are_one_answer() -> None:
    one, same, other = r"\boxed{(3*2)+1}", r"so \boxed{1 + 2*3 = 7}", r"\boxed{(2+1)*3-2}"
    assert answer(one, "countdown") == answer(same, "countdown") != answer(other, "countdown")


def test_a_model_is_graded_as_by_naive_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The greedy responses of a model, and the right ones among its samples; the random numbers are its own."""
    monkeypatch.setattr(evaluation, "grade", odd)
    tokenizer = build_tokenizer(4096)
    model = build_model(tokenizer, seed=0).eval()
    seen: list[Counts] = []
    real = evaluation.count

    def count(*given: Any, **how: Any) -> Counts:
        seen.append(real(*given, **how))
        return seen[-1]

    monkeypatch.setattr(evaluation, "count", count)
    state = torch.random.get_rng_state()
    found = evaluate(model, tokenizer, PROBLEMS, samples=8, max_tokens=24, seed=0)
    assert torch.equal(torch.random.get_rng_state(), state)
    greedy = generate(model, tokenizer, PROBLEMS.messages, samples=1, greedy=True)
    assert found["greedy"] == pytest.approx(float(odd(greedy.texts).mean()))
    right = [[text for text in each.elements() if odd([text])[0]] for each in seen[0].texts]
    assert found["right"] == [len(texts) for texts in right]
    assert found["distinct"] == [len(set(texts)) for texts in right]
    assert 0 < sum(found["right"]) < 24
    torch.manual_seed(9)
    assert evaluate(model, tokenizer, PROBLEMS, samples=8, max_tokens=24, seed=0) == found
    assert evaluate(model, tokenizer, PROBLEMS, samples=8, max_tokens=24, seed=1)["entropy"] != found["entropy"]


def test_without_a_right_response_there_is_no_entropy_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "sample", lambda *_, samples, **__: fixed(["wrong"] * 3 * samples))
    monkeypatch.setattr(evaluation, "count", lambda *_, samples, **__: Counts([Counter(wrong=samples)] * 3, 6, 0.1))
    found = evaluate(None, None, PROBLEMS, samples=2, max_tokens=7, seed=0)
    assert (found["right"], found["distinct"], found["right_entropy"]) == ([0, 0, 0], [0, 0, 0], None)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"split": "tset"}, "split=tset is not known: choose one of train, probe, test. Did you mean test?"),
        ({"problems": 0}, "problems=0 must be a whole number of at least 1"),
        ({"samples": 1.5}, r"samples=1\.5 must be"),
        ({"samples_between": True}, "samples_between=True must be"),
    ],
)
def test_what_is_wrong_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Evaluation(**wrong)
