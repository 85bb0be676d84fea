"""Gold answers as the sources have them."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.data.golds import (
    as_difficulty,
    boxed_gold,
    json_gold,
    list_gold,
    math_gold,
    number_gold,
    text_gold,
    unsolved,
)
from pacs.data.problem import Dropped


@pytest.mark.parametrize(
    ("value", "gold"),
    [
        (27.0, "27"),
        (-3.0, "-3"),
        (0.5, "0.5"),
        (204, "204"),
        ("27.0", "27.0"),
        (" 25 ", "25"),
        ("$2^{1009}$", "2^{1009}"),
        ("$1$ or $2$", "$1$ or $2$"),
        ("$", "$"),
        (["5"], "5"),
        ([["$5$"], None, 5.0], "5"),
        ("['5']", "5"),
        ('["\\\\frac{1}{2}"]', "\\frac{1}{2}"),
        (r"['\frac{1}{2}\text{ cm}']", r"\frac{1}{2}\text{ cm}"),
        (repr([r"\frac{1}{2}\text{ cm}"]), r"\frac{1}{2}\text{ cm}"),
        (json.dumps([r"\nu\\\beta"]), r"\nu\\\beta"),
        ("[5]", "[5]"),
        ("['a, b]", "['a, b]"),
        ([], ""),
        (math.inf, ""),
        ("48/2 = <<48/2=24>>24\n#### 1,234,567", "1234567"),
        ("#### $70,000.50", "$70000.50"),
        ("#### 3, 4", "3, 4"),
        ("#### (1,234)", "(1,234)"),
        ("#### [100,200]", "[100,200]"),
        ("It is \\boxed{\\frac{1}{2}}, or \\boxed{0.5}.", "0.5"),
        ("\\boxed{cut", ""),
        ("\\text{Monday}", "\\text{Monday}"),
        ("\\$32,\\!348", "\\$32,\\!348"),
        (None, ""),
        (math.nan, ""),
        ("", ""),
    ],
)
def test_math_gold(value: Any, gold: str) -> None:
    assert math_gold(value) == gold


@pytest.mark.parametrize("value", [["$-1$", 2.0], ("a", "b"), "['1', '2']", '["1/2", "0.5"]', [["1"], ["2"]]])
def test_which_of_several_answers_is_right_is_not_guessed(value: Any) -> None:
    with pytest.raises(Dropped, match="several answers in a list"):
        math_gold(value)


def test_of_a_solution_without_a_box_nothing_is_taken() -> None:
    assert boxed_gold("It is 5.") == boxed_gold(None) == ""
    assert boxed_gold("It is $\\boxed{5}$.") == "5"


@pytest.mark.parametrize(("rate", "level"), [(0.25, 0.75), ("1", 0.0), (None, None), (math.nan, None)])
def test_what_is_seldom_solved_is_hard(rate: Any, level: float | None) -> None:
    assert unsolved(rate) == level


@pytest.mark.parametrize(
    ("value", "gold"),
    [("27.0", "27"), ("-3.00", "-3"), (27.0, "27"), ("2.50", "2.50"), ("070", "070"), ("1.0x", "1.0x")],
)
def test_number_gold(value: Any, gold: str) -> None:
    assert number_gold(value) == gold


@pytest.mark.parametrize(
    ("value", "gold"),
    [
        ("['$2$']", "2"),
        ("['1', '2']", "1, 2"),
        (["$-1$", 2.0], "-1, 2"),
        (["$2$"], "2"),
        ("[0,1)", "[0,1)"),
        ("[x, y]", "[x, y]"),
        ("[1]", "1"),
    ],
)
def test_list_gold(value: Any, gold: str) -> None:
    assert list_gold(value) == gold


@pytest.mark.parametrize(
    ("value", "gold"),
    [
        (None, ""),
        (" a $b$ ", "a $b$"),
        ("\\boxed{1}", "\\boxed{1}"),
        ("['a']", "['a']"),
        (1.0, "1"),
        (2.5, "2.5"),
        (math.nan, ""),
        (["a"], "a"),
        ([], ""),
    ],
)
def test_text_gold(value: Any, gold: str) -> None:
    assert text_gold(value) == json_gold(value) == gold


def test_no_text_is_made_of_several_answers() -> None:
    for gold in (text_gold, json_gold):
        with pytest.raises(Dropped, match="several answers in a list"):
            gold(["a", "b"])


@pytest.mark.parametrize("gold", [math_gold, text_gold])
def test_the_mend_of_an_object_is_told(gold: Callable[[Any], str]) -> None:
    with pytest.raises(Dropped, match=r"--answer-column answer\.value"):
        gold({"value": "5"})


@settings(deadline=None, derandomize=True)
@given(st.integers())
def test_whole_numbers_are_the_same_however_they_are_stored(number: int) -> None:
    for value in (number, str(number), f" {number}\n", f"${number}$", [number], f"so \\boxed{{{number}}}"):
        assert math_gold(value) == str(number)
    assert number_gold(f"{number}.0") == str(number)
    if abs(number) < 2**53:
        assert math_gold(float(number)) == str(number)


@pytest.mark.parametrize(
    ("value", "level"),
    [(5, 5.0), ("Level 5", 5.0), (2.5, 2.5), ("2.5", 2.5), (-1, -1.0), (None, None), (math.nan, None), ("Hard", None)],
)
def test_difficulty(value: Any, level: float | None) -> None:
    assert as_difficulty(value) == level
