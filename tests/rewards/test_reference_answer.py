"""A right answer in place of a sampled one, as tokens: against texts, with tokenizers that merge and do not."""

import itertools
import math
import random
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from pacs.rewards.reference_answer import MEASURED, OPENS, Measured, bare, mean_probability, splice
from pacs.rewards.reference_probability import compute_score, gold_problem, settings_of
from tests.rewards.tokenizers import tokenizer as byte_tokenizer

END = "<|im_end|>"


#: Some of them go over the beginning of what opens an answer, and over its end.
MERGES = (("{", "P"), ("{", "L"), ("a", "r"), ("i", "s"), ("is", "}"), ("o", "x"), ("Ġ", "\\"), ("o", "n"), ("e", "d"))


def merging_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-pair encoding without words, with `MERGES`."""
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *map("".join, MERGES)]
    made = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=list(MERGES)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token="<|pad|>")
    fast.add_special_tokens({"additional_special_tokens": ["</think>"]})
    return fast


TOKENIZERS = {"bytes": byte_tokenizer(special=["</think>"]), "merging": merging_tokenizer()}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return TOKENIZERS[request.param]


def test_the_merging_tokenizer_merges_over_where_an_answer_begins() -> None:
    tokens = TOKENIZERS["merging"].encode("is \\boxed{Paris}", add_special_tokens=False)
    pieces = [TOKENIZERS["merging"].decode([token]) for token in tokens]
    assert {"{P", " \\", "is}"} <= set(pieces)


@pytest.mark.parametrize(
    ("response", "begins", "kept"),
    [
        ("so it is \\boxed{Paris}. Well then", 0, "so it is "),
        ("\\boxed{Lyon}", 0, ""),
        ("\\boxed{Lyon} or \\boxed{Bern}", 0, "\\boxed{Lyon} or "),
        ("Genève? \\boxed{", 0, "Genève? "),
        ("\\boxed{Lyon} hm", 0, ""),
    ],
)
def test_the_answer_stands_where_the_sampled_one_did(tokenizer: Any, response: str, begins: int, kept: str) -> None:
    tokens = tokenizer.encode(response, add_special_tokens=False)
    for answer in ("London", "Genève", "Paris", "a longer answer, in words"):
        found = splice(tokenizer, tokens, begins, OPENS, answer)
        assert found is not None
        assert tokenizer.decode(found.tokens) == kept + OPENS + answer
        # The tokens that have a part of the answer, and no others.
        before = kept + OPENS
        assert len(tokenizer.decode(found.tokens[: found.first])) <= len(before)
        assert len(tokenizer.decode(found.tokens[: found.first + 1])) > len(before)
        # What is kept of the response is kept token by token, up to the token in which the opening begins.
        assert found.tokens[: found.kept] == tokens[: found.kept]
        assert kept.startswith(tokenizer.decode(tokens[: found.kept]))
        assert len(kept) < len(tokenizer.decode(tokens[: found.kept + 1]))
        # From `sampled` on the response has its own answer.
        assert len(tokenizer.decode(tokens[: found.sampled])) <= len(before)
        if response != before:
            assert len(tokenizer.decode(tokens[: found.sampled + 1])) > len(before)


def test_an_answer_that_is_right_gives_the_response_back() -> None:
    tokenizer = TOKENIZERS["merging"]
    tokens = tokenizer.encode("so it is \\boxed{Paris", add_special_tokens=False)
    found = splice(tokenizer, tokens, 0, OPENS, "Paris")
    assert found is not None
    assert found.tokens == tokens
    assert found.first == found.sampled


def test_of_a_response_without_an_answer_there_is_none(tokenizer: Any) -> None:
    for response, begins in (("it is Paris", 0), ("\\boxed{Paris}", None), ("\\boxed{Paris} so", 5), ("", 0)):
        assert splice(tokenizer, tokenizer.encode(response), begins, OPENS, "London") is None


def test_special_tokens_have_no_text_and_are_kept(tokenizer: Any) -> None:
    tokens = tokenizer.encode("no </think>\\boxed{Lyon}", add_special_tokens=False)
    text = tokenizer.decode(tokens, skip_special_tokens=True)
    found = splice(tokenizer, [*tokens, tokenizer.eos_token_id], len("no "), OPENS, "Bern")
    assert found is not None
    assert text == "no \\boxed{Lyon}"
    assert tokenizer.decode(found.tokens) == "no </think>\\boxed{Bern"


def test_another_text_may_open_the_answer(tokenizer: Any) -> None:
    tokens = tokenizer.encode("well <answer> Lyon </answer>")
    found = splice(tokenizer, tokens, 0, "<answer> ", "Bern")
    assert found is not None
    assert tokenizer.decode(found.tokens) == "well <answer> Bern"


def test_places_in_random_responses_are_those_of_a_search_by_hand(tokenizer: Any) -> None:
    dice = random.Random(0)
    words = ["so ", "it ", "is ", "\\boxed{", "Par", "is", "}", "è", ". ", "Lyon"]
    for _ in range(300):
        response = "".join(dice.choices(words, k=dice.randrange(12)))
        tokens = tokenizer.encode(response, add_special_tokens=False)
        found = splice(tokenizer, tokens, 0, OPENS, "London")
        place = response.rfind(OPENS)
        if place < 0:
            assert found is None
            continue
        lengths = [len(tokenizer.decode(tokens[:count])) for count in range(len(tokens) + 1)]
        assert found is not None
        assert found.kept == max(count for count, length in enumerate(lengths) if length <= place)
        answered = place + len(OPENS)
        overlapping = [count for count in range(len(tokens)) if lengths[count + 1] > answered]
        assert found.sampled == (overlapping[0] if overlapping else len(tokens))
        assert tokenizer.decode(found.tokens) == response[:answered] + "London"


def test_behind_the_bare_prompt_reasoning_that_it_opens_is_ended(tokenizer: Any) -> None:
    for closes in ("", "</think>"):
        found = bare(tokenizer, closes, OPENS, "Lyon")
        assert tokenizer.decode(found.tokens) == closes + OPENS + "Lyon"
        assert len(tokenizer.decode(found.tokens[: found.first + 1])) > len(closes + OPENS)
        assert len(tokenizer.decode(found.tokens[: found.first])) <= len(closes + OPENS)


def test_the_mean_is_of_probabilities() -> None:
    assert mean_probability([math.log(0.5), math.log(0.25), 0.0]) == pytest.approx((0.5 + 0.25 + 1) / 3)


def score(probability: float | None, baseline: float = 0.0) -> dict[str, Any]:
    return compute_score(
        "", "", "Lyon", {"verifier": "reference_probability", **Measured(probability, baseline).info()}
    )


def test_the_score_is_what_reasoning_has_added() -> None:
    for probability, baseline in itertools.product((0.0, 0.2, 0.7, 1.0), repeat=2):
        assert score(probability, baseline)["score"] == pytest.approx(max(probability - baseline, 0))
    assert score(0.7, 0.2)["status"] == "graded"
    assert (score(None, 0.2)["score"], score(None)["status"]) == (0.0, "no_answer")
    assert (score(math.nan)["score"], score(math.nan)["status"]) == (0.0, "error")


def test_without_a_measurement_there_is_no_score() -> None:
    with pytest.raises(ValueError, match=r"a training run alone measures .* exact_match"):
        compute_score("", "\\boxed{Lyon}", "Lyon", {"verifier": "reference_probability"})
    assert MEASURED in Measured(None).info()


def test_settings_and_right_answers() -> None:
    assert settings_of({}) == {"opens": OPENS, "baseline": True}
    assert settings_of({"math": {}, "reference_probability": {"opens": ":"}}) == {"opens": ":", "baseline": True}
    assert gold_problem(" \n") is not None
    assert gold_problem("Lyon") is None
