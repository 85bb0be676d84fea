"""The parts of a reward, each against a naive reference, and their sum."""

import math
import random
import time
from itertools import product
from typing import Any

import pytest

from pacs.rewards.composite import (
    Composite,
    LengthSettings,
    Response,
    RewardSettings,
    length_value,
    overlong_value,
    repeated_share,
)

LONGEST = 100


def composite(**settings: Any) -> Composite:
    return Composite(RewardSettings.from_mapping({"total": "sum", **settings}), LONGEST)


def response(score: float = 1.0, text: str = r"\boxed{7}", tokens: int = 10, **more: Any) -> Response:
    return Response(score, text, more.pop("begins", 0), range(tokens), **more)


def test_repeated_n_grams_are_counted_as_by_hand() -> None:
    assert repeated_share([1, 2, 1, 2, 1], 2) == 0.5  # 12 21 12 21: two of four
    assert repeated_share([5] * 10, 3) == 7 / 8
    assert repeated_share([1, 2, 3], 4) == 0.0
    assert repeated_share([], 1) == 0.0


def test_repeated_n_grams_are_those_of_a_naive_count() -> None:
    rng = random.Random(3)
    for _ in range(300):
        tokens = [rng.choice((0, 1, 2, 151_935, 2**31 - 1)) for _ in range(rng.randrange(40))]
        n = rng.randrange(1, 7)
        grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
        again = [gram for i, gram in enumerate(grams) if gram in grams[:i]]
        assert repeated_share(tokens, n) == pytest.approx(len(again) / len(grams) if grams else 0.0, abs=1e-15)


def test_the_public_code_s_cosine() -> None:
    """eddycmu/demystify-long-cot at 29fddcc: min + (max - min) (1 + cos(pi t / T)) / 2.

    The least and the greatest value of a wrong response change places, and what is too long has a value of its own.
    """
    settings = LengthSettings(right=[2.0, 1.0], wrong=[-10.0, 0.0], beyond=-10.0)
    for tokens in range(LONGEST):
        cosine = math.cos(tokens / LONGEST * math.pi)
        right = 1 + 0.5 * (2 - 1) * (1.0 + cosine)
        wrong = 0 + 0.5 * (-10 - 0) * (1.0 + cosine)
        assert length_value(tokens, LONGEST, settings, right=True) == pytest.approx(right, abs=1e-12)
        assert length_value(tokens, LONGEST, settings, right=False) == pytest.approx(wrong, abs=1e-12)
    assert {length_value(t, LONGEST, settings, right=r) for t, r in product((100, 170), (True, False))} == {-10.0}


def test_a_linear_length() -> None:
    settings = LengthSettings(shape="linear", right=[1.0, 0.0])
    values = [length_value(tokens, 80, settings, right=True) for tokens in (0, 20, 40, 79, 80, 100)]
    assert values == pytest.approx([1.0, 0.75, 0.5, 1 / 80, 0.0, 0.0], abs=1e-12)
    assert length_value(40, 80, settings, right=False) == 0.0


def test_dapos_punishment() -> None:
    """Eq. 13 of arXiv 2503.14476, with L_max = 100 and L_cache = 20."""
    for tokens in range(140):
        wanted = 0.0 if tokens <= 80 else (80 - tokens) / 20 if tokens <= 100 else -1.0
        assert overlong_value(tokens, 100, 20) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "text", "more", "holds"),
    [
        ({}, r"so \boxed{7}", {}, 1.0),
        ({}, "so 7", {}, 0.0),
        ({}, r"so \boxed{7", {}, 0.0),
        ({}, r"\boxed{7}</think>7", {"begins": 17}, 0.0),
        ({}, r"\boxed{7}</think>\boxed{7}", {"begins": 17}, 1.0),
        ({}, r"\boxed{7}", {"begins": None}, 0.0),
        ({}, "```python\npass\n```", {"verifier": "code"}, 1.0),
        ({}, r"\boxed{7}", {"verifier": "code"}, 0.0),
        ({"pattern": r"^<a>.*</a>$"}, "<a>one\ntwo</a>", {"begins": None}, 1.0),
        ({"pattern": r"^<a>.*</a>$"}, r"<a>\boxed{7}", {}, 0.0),
    ],
)
def test_the_form(settings: dict[str, Any], text: str, more: dict[str, Any], holds: float) -> None:
    made = composite(format={"weight": 1.0, **settings})
    assert made.parts(response(text=text, **more)) == {"format": holds}


def test_a_pattern_that_searches_for_too_long_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy writes what it likes, and a grader must not hang at it."""
    monkeypatch.setattr("pacs.rewards.composite.FORM_SECONDS", 0.1)
    made = composite(format={"weight": 1.0, "pattern": r"(a|aa)+$"})
    before = time.process_time()
    assert made.parts(response(text="a" * 40 + "!")) == {"format": 0.0}
    assert time.process_time() - before < 5
    assert made.parts(response(text="a" * 40)) == {"format": 1.0}


def test_the_sum_and_what_is_made_of_it() -> None:
    weights = {"format": {"weight": 0.25}, "overlong": {"weight": 0.5}, "length": {"weight": 0.0}}
    given = response(score=1.0, tokens=90)
    for total, wanted in (("sum", 0.8), ("clip", 0.8), ("threshold", 1.0)):
        made = composite(total=total, correctness=0.8, threshold=0.8, **weights)
        parts = made.parts(given)
        assert parts == {"format": 1.0, "length": pytest.approx(-0.488, abs=1e-3), "overlong": -0.5}
        assert made.total(1.0, parts) == pytest.approx(wanted, abs=1e-12)
        assert made.sum(1.0, parts) == pytest.approx(0.8 * 1 + 0.25 * 1 + 0.5 * -0.5, abs=1e-12)
    clipped = composite(total="clip", **weights)
    assert clipped.total(1.0, {"format": 1.0, "length": 0.0, "overlong": 0.0}) == 1.0
    assert clipped.total(0.0, {"format": 0.0, "length": 0.0, "overlong": -1.0}) == 0.0
    below = composite(total="threshold", threshold=0.8, correctness=0.79)
    assert (below.total(1.0, {}), composite(total="threshold", threshold=0.8).total(1.0, {})) == (0.0, 1.0)


def test_a_rounded_sum_reaches_its_threshold() -> None:
    assert 0.7 + 0.1 < 0.8
    made = composite(total="threshold", threshold=0.8, correctness=0.7, format={"weight": 0.1})
    assert made.total(1.0, {"format": 1.0}) == 1.0


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("total", ["sum", "clip", "threshold"])
def test_a_score_that_is_not_finite_is_not_hidden(score: float, total: str) -> None:
    made = composite(total=total, format={"weight": 1.0})
    assert not math.isfinite(made.total(score, made.parts(response(score=score))))


def test_only_what_has_a_weight_is_calculated() -> None:
    assert composite().parts(response()) == {}
    assert composite(repetition={"weight": 0}, overlong={"weight": 1}).parts(response()).keys() == {
        "repetition",
        "overlong",
    }


def test_bounds_are_those_of_many_responses() -> None:
    made = composite(
        correctness=0.5,
        format={"weight": 0.25},
        length={"weight": 2.0, "right": [0.5, 0.25], "wrong": [-1.0, 0.0], "beyond": -2.0},
        repetition={"weight": 0.125, "ngram": 1},
        overlong={"weight": 1.0},
    )
    rng, totals = random.Random(0), {0.0: [], 1.0: []}
    for _ in range(3000):
        tokens = [rng.randrange(3)] * rng.choice((0, 1, 5, rng.randrange(LONGEST), LONGEST))
        score, text = float(rng.random() < 0.5), rng.choice(("", r"\boxed{1}"))
        totals[score].append(made.sum(score, made.parts(Response(score, text, 0, tokens))))
    for score, found in totals.items():
        low, high = made.bounds((score,))
        assert low <= min(found) <= max(found) <= high
    assert made.bounds((0.0, 1.0)) == (-2 * 2 - 0.125 - 1, 0.5 + 0.25 + 1.0)
    assert high == pytest.approx(max(totals[1.0]), abs=1e-9)


def test_defaults_follow_the_longest_response() -> None:
    made = composite(length={"weight": 1.0}, overlong={"weight": 1.0})
    assert (made.budget, made.buffer) == (LONGEST, 20)
    assert Composite(RewardSettings(), 3).buffer == 1
    said = composite(
        length={"weight": 1.0, "budget": 50}, overlong={"weight": 0.5, "buffer": 7}, total="clip"
    ).formula()
    assert said == (
        "1 * score + 1 * length (cosine to 50 tokens: right 0 to -0.5, wrong 0 to 0) + 0.5 * overlong (to -1 over the "
        "last 7 of 100 tokens), held to 0 and 1"
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"total": "mean"}, "run.reward.total=mean is not known: choose one of sum, clip, threshold, null"),
        (
            {"format": {"weight": -1}},
            "run.reward.format.weight=-1 must be greater than or equal to 0: a factor, 0 to log",
        ),
        ({"format": {"pattern": "(a"}}, r"run.reward.format.pattern=\(a is no regular expression"),
        ({"length": {"right": [1]}}, "run.reward.length.right=.* two numbers, as "),
        ({"length": {"shape": "sine"}}, "run.reward.length.shape=sine is not known"),
        ({"overlong": {"buffer": 0}}, "run.reward.overlong.buffer=0 must be greater than or equal to 1"),
        ({"repetitions": {}}, "run.reward.repetitions is not a setting .did you mean run.reward.repetition"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RewardSettings.from_mapping(settings)
