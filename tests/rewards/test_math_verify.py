"""Verdicts held against math-verify's: the same, but where it is known to be too generous or too narrow."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from math_verify import parse, verify

from pacs.rewards.math import grade
from tests.rewards.answers import EQUAL


def math_verify_says(answer: str, gold: str) -> bool:
    try:
        forms = [parse(f"\\boxed{{{text}}}", parsing_timeout=None) for text in (gold, answer)]
        return bool(verify(*forms, timeout_seconds=None))
    except Exception:
        return False


#: Groups of answers that it reads as this project does: no units, bases, relations and the like.
FIRST = r"72 -72 10000 27 0.5 -0.5 1.5 1024 \sqrt{8} x^2+2x+1 (x+2)(x-3) (1,2) (2,1) [1,2) \{1,2,3\} 3\pi 3+4i y=2x+1"
ALIKE = [[answer for answer in group if answer[-1] != "."] for group in EQUAL if group[0] in FIRST.split()]


@pytest.mark.slow
def test_pairs_of_answers_are_judged_alike() -> None:
    assert len(ALIKE) == len(FIRST.split())
    pairs = [pair for group in ALIKE for pair in itertools.product(group[:4], group[:1])]
    pairs += [(a[-1], b[0]) for a, b in itertools.permutations(ALIKE, 2)][::3]
    assert {pair for pair in pairs if (grade(*pair) == "correct") != math_verify_says(*pair)} == set()


SIGNS = st.sampled_from(["", "-"])
NUMBERS = st.one_of(
    st.builds(lambda s, i: f"{s}{i}", SIGNS, st.integers(0, 10**7)),
    st.builds(lambda s, i: f"{s}{i:,}", SIGNS, st.integers(0, 10**7)),
    st.builds(lambda s, i, j: f"{s}{i}.{j}", SIGNS, st.integers(0, 999), st.integers(0, 10**5)),
    st.builds(lambda s, i, j: rf"{s}\frac{{{i}}}{{{j}}}", SIGNS, st.integers(1, 99), st.integers(1, 99)),
)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(NUMBERS, NUMBERS)
def test_numbers_are_compared_as_math_verify_compares_them(a: str, b: str) -> None:
    assert (grade(a, b, accept_unevaluated=True) == "correct") == math_verify_says(a, b)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("> 72", "72"),
        ("71 = 72", "72"),
        ("0.0", "0.00000000045"),
        ("7", r"x \equiv 3 \pmod 7"),
        ("2", r"\{x|x\geq 2\}"),
        ("x", "X"),
    ],
)
def test_where_it_is_too_generous(answer: str, gold: str) -> None:
    assert math_verify_says(answer, gold)
    assert grade(answer, gold) == "wrong"


@pytest.mark.parametrize(("answer", "gold"), [(r"\frac{4}{11}", r"0.\overline{36}"), (r"1 \le x \le 2", "[1,2]")])
def test_where_it_is_too_narrow(answer: str, gold: str) -> None:
    assert not math_verify_says(answer, gold)
    assert grade(answer, gold) == "correct"
