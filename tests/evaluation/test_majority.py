"""maj@k against voting in every subset."""

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb, prod
from statistics import fmean

import pytest

from pacs.evaluation.summary import DRAWS, maj_at_k, summarize, votes
from tests.evaluation.grading import graded, task_of


def by_voting(answers: list[str]) -> float:
    """1 for "right", shared with those that have as many votes; "" has none."""
    counted = Counter(answer for answer in answers if answer)
    winners = [answer for answer, count in counted.items() if count == max(counted.values())]
    return ("right" in winners) / len(winners) if winners else 0.0


def polls() -> list[tuple[int, list[int], int]]:
    """Right votes, wrong votes, samples."""
    generator = random.Random(0)
    made = [(0, [], 4), (0, [3], 4), (4, [], 4), (2, [2, 2, 2], 8), (1, [1] * 7, 8), (3, [5], 8), (3, [], 9)]
    for n in range(1, 11):
        for _ in range(8):
            sizes = Counter(generator.choice("rrabcd-") for _ in range(n))
            made.append((sizes["r"], [sizes[wrong] for wrong in "abcd" if sizes[wrong]], n))
    return made


@pytest.mark.parametrize(("right", "wrong", "n"), polls())
def test_equals_voting_in_all_subsets(right: int, wrong: list[int], n: int) -> None:
    answers = ["right"] * right + [f"wrong {i}" for i, count in enumerate(wrong) for _ in range(count)]
    answers += [""] * (n - len(answers))
    for k in range(1, n + 1):
        subsets = list(combinations(answers, k))
        expected = fmean(by_voting(list(subset)) for subset in subsets)
        exact = right == 0 or k in (1, n)
        spread = 0.5 / DRAWS**0.5  # at most, of a mean of values between 0 and 1
        assert maj_at_k(right, wrong, n, k) == pytest.approx(expected, abs=1e-12 if exact else 4 * spread)


@pytest.mark.parametrize(
    ("right", "wrong", "n", "k"),
    [
        (40, [30, 20], 128, 64),
        (40, [40, 3], 90, 64),
        (2, [1] * 9, 128, 127),
        (60, [], 128, 64),
        (50, [700], 4096, 2048),
        (2, [1, 2, 2, 3], 4096, 4095),
    ],
)
def test_equals_counting_of_all_votes(right: int, wrong: list[int], n: int, k: int) -> None:
    """In whole numbers: in how many ways each number of votes for each answer comes about."""
    ways, others, won = cache(comb), n - right - sum(wrong), Fraction()
    for polled in product(*(range(count + 1) for count in (right, *wrong))):
        if polled[0] and polled[0] == max(polled) and 0 <= k - sum(polled) <= others:
            pairs = zip((right, *wrong), polled, strict=True)
            draws = prod(ways(count, votes) for count, votes in pairs) * ways(others, k - sum(polled))
            won += Fraction(draws, polled.count(polled[0]))
    assert maj_at_k(right, wrong, n, k) == pytest.approx(float(won / comb(n, k)), abs=2 / DRAWS**0.5)


def test_the_same_counts_have_the_same_value() -> None:
    assert maj_at_k(40, [30, 20], 128, 64) == maj_at_k(40, [30, 20], 128, 64)


def test_a_hundred_problems_of_the_same_counts_are_not_off_together() -> None:
    """Of nine samples four are right, and the wrong answers have three and two votes; k is 3."""
    answers = ["right"] * 4 + ["a"] * 3 + ["b"] * 2
    expected = fmean(by_voting(list(subset)) for subset in combinations(answers, 3))
    task = task_of("sums", {str(number): 4 for number in range(100)}, 9)
    assert votes(task.samples["0"]) == (4, [3, 2])
    assert summarize(task, [3]).maj_at[3].mean == pytest.approx(expected, abs=4 * 0.5 / (100 * DRAWS) ** 0.5)


def test_ends() -> None:
    assert maj_at_k(4096, [], 4096, 64) == 1
    assert maj_at_k(2048, [2048], 4096, 64) == pytest.approx(0.5, abs=2 / DRAWS**0.5)
    assert maj_at_k(2048, [2047], 4096, 4096) == 1.0
    assert maj_at_k(2, [2, 2], 8, 8) == 1 / 3
    assert maj_at_k(0, [2], 8, 8) == 0.0
    for n in (128, 4096):
        assert maj_at_k(37, [50, 3], n, 1) == pytest.approx(37 / n, rel=1e-9)  # pass@1


@pytest.mark.parametrize(
    ("right", "wrong", "n", "k", "names"),
    [(2, [1], 4, 5, "k=5"), (2, [1], 4, 0, "k=0"), (2, [3], 4, 1, "n=4: fewer samples than votes")],
)
def test_refuses_impossible_counts(right: int, wrong: list[int], n: int, k: int, names: str) -> None:
    with pytest.raises(ValueError, match=f"^{names}"):
        maj_at_k(right, wrong, n, k)


def test_answers_of_the_same_value_are_one() -> None:
    wrong = [
        "1/2",
        "\\frac{1}{2}",
        "0.5",
        "$0.50$",
        "10,000",
        "10000",
        "x + 1",
        "x+1",
        "\\left(3,4\\right)",
        "(3,4)",
        "y",
    ]
    samples = [graded("p", i, "wrong", answer) for i, answer in enumerate(wrong)]
    assert sorted(votes(samples)[1]) == [1, 2, 2, 2, 4]


def test_right_answers_are_one_however_they_are_written() -> None:
    samples = [graded("p", i, "correct", answer) for i, answer in enumerate(["2\\sqrt{2}", "\\sqrt{8}", "8^{1/2}"])]
    assert votes(samples) == (3, [])


def test_who_gives_no_answer_has_no_vote_and_who_cannot_be_graded_has_a_wrong_one() -> None:
    samples = [
        graded("p", 0, "correct", "7"),
        graded("p", 1, "no_answer"),
        graded("p", 2, "timeout", "9^{9^9}"),
        graded("p", 3, "error", "\\oops"),
        graded("p", 4, "error"),
    ]
    assert votes(samples) == (1, [1, 1])
