"""Distinct n-grams against sets of them; entropies against SciPy's."""

import json
import math
import random
from pathlib import Path

import pytest
from scipy.stats import entropy

from pacs.diversity.measures import (
    HIGHEST_N,
    _ids,
    answer_entropy,
    distinct_n,
    find_tokenizer,
    token_entropy,
    words,
)
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.diversity.folders import Response, make_task, write_folder


def by_sets(responses: list[list[int]]) -> list[float | None]:
    shares: list[float | None] = []
    for n in range(1, HIGHEST_N + 1):
        grams = [tuple(one[i : i + n]) for one in responses for i in range(len(one) - n + 1)]
        shares.append(len(set(grams)) / len(grams) if grams else None)
    return shares


@pytest.mark.parametrize("seed", range(20))
def test_distinct_n_is_what_sets_say(seed: int) -> None:
    draw = random.Random(seed)
    responses = [[draw.choice([5, -3, 10**12, 0]) for _ in range(draw.randint(0, 12))] for _ in range(seed)]
    assert distinct_n(responses) == by_sets(responses)
    as_words = [[f"w{token}" for token in one] for one in responses]
    assert distinct_n(as_words) == by_sets(responses)


def test_distinct_n_of_responses_that_are_the_same() -> None:
    assert distinct_n([[1, 2, 3, 4]] * 8) == [1 / 8] * 4
    assert distinct_n([[1, 2], [3, 4]]) == [1.0, 1.0, None, None]  # 2, 3 is no bigram of either


def test_code_that_lies_beside_a_tokenizer_is_not_run(tmp_path: Path) -> None:
    model = tmp_path / "model"
    build_tokenizer(64).save_pretrained(model)
    config = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(
        json.dumps(config | {"auto_map": {"AutoTokenizer": ["mine.Mine", None]}})
    )
    code = f"from transformers import PreTrainedTokenizerFast as Mine\nopen({str(tmp_path / 'run')!r}, 'w')\n"
    (model / "mine.py").write_text(code)
    find_tokenizer([write_folder(tmp_path / "evaluation", {"sums": {"p": [Response("x")]}}, model=str(model))])
    assert not (tmp_path / "run").exists()


def test_words() -> None:
    assert words(r"So x = \frac{1}{2}.") == ["So", "x", "=", "\\", "frac", "{", "1", "}", "{", "2", "}", "."]


def test_half_a_surrogate_pair_has_the_tokens_of_its_name() -> None:
    tokenizer = build_tokenizer(64)
    assert _ids(tokenizer, ["1+\ud83d"]) == _ids(tokenizer, ["1+\\ud83d"])


def test_answer_entropy_is_that_of_the_shares() -> None:
    task = make_task(
        {
            "p": [
                Response("", "correct", "1/2"),
                Response("", "correct", "0.5"),  # right, so the same answer however it is written
                Response("", "wrong", r"\dfrac{1}{3}"),
                Response("", "wrong", r"\frac13"),
                Response("", "wrong", "x+1"),
                Response("", "wrong", "1+x"),
                Response("", "no_answer", ""),
                Response("", "no_answer", ""),
            ]
        }
    )
    classes = [2, 2, 1, 1, 2]  # right; 1/3; x+1 and 1+x, which only algebra knows to be the same; no answer
    assert answer_entropy(task.samples["p"]) == pytest.approx(entropy(classes))


@pytest.mark.parametrize("status", ["correct", "wrong", "no_answer"])
def test_one_answer_has_no_entropy(status: str) -> None:
    task = make_task({"p": [Response("", status, "" if status == "no_answer" else "7")] * 4})
    assert math.copysign(1, answer_entropy(task.samples["p"])) == 1
    assert answer_entropy(task.samples["p"]) == 0


def test_token_entropy_is_there_if_all_samples_have_it() -> None:
    def samples(*entropies: float | None) -> object:
        return make_task({"p": [Response("", token_entropy=one) for one in entropies]}).samples["p"]

    assert token_entropy(samples(0.1, 0.3)) == pytest.approx(0.2)
    assert token_entropy(samples(0.0, 0.0)) == 0.0
    assert token_entropy(samples(0.1, None)) is None
    assert token_entropy(samples(None)) is None
