"""A validation's pass@k against drawing from the list of its scores."""

import random
from itertools import combinations
from statistics import fmean

import pytest

from pacs.metrics.outcomes import validation_metrics


def test_equals_drawing_from_the_scores() -> None:
    generator = random.Random(0)
    scores = {("sums", str(i)): [float(generator.random() < i / 6) for _ in range(6)] for i in range(7)}
    rows = [(problem, score) for problem, values in scores.items() for score in values]
    generator.shuffle(rows)
    problems, values = zip(*rows, strict=True)
    assert validation_metrics(dict.fromkeys(scores, 6), problems, values) == {
        f"pacs/validation/sums/pass@{k}": pytest.approx(
            fmean(max(drawn) for problem in scores.values() for drawn in combinations(problem, k))
        )
        for k in (1, 2, 4)  # powers of two; six responses a problem
    }


def test_graded_scores_of_a_source_are_counted_and_are_no_pass_at_k() -> None:
    """Rewards of your own may be anything; another source has its own."""
    problems = [("s", "p")] * 3 + [("t", "p")] * 2
    assert validation_metrics({("s", "p"): 3, ("t", "p"): 2}, problems, [0.5, -1.0, 1.0, 1.0, 0.0]) == {
        "pacs/validation/s/graded_count": 2,
        "pacs/validation/t/pass@1": 0.5,
        "pacs/validation/t/pass@2": 1.0,
    }


def test_failed_rollouts_count_as_wrong() -> None:
    asked = {("s", "p"): 2, ("s", "all failed"): 2}
    assert validation_metrics(asked, [("s", "p")], [1.0]) == {
        "pacs/validation/s/pass@1": 0.25,
        "pacs/validation/s/pass@2": 0.5,
    }


def test_no_k_is_larger_than_the_fewest_responses_of_a_problem() -> None:
    asked = {("s", "p"): 4, ("s", "q"): 2, ("other", "p"): 4}
    rows = [problem for problem, n in asked.items() for _ in range(n)]
    metrics = validation_metrics(asked, rows, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert metrics == {
        "pacs/validation/s/pass@1": pytest.approx((1 / 4 + 1 / 2) / 2),
        "pacs/validation/s/pass@2": pytest.approx((1 / 2 + 1) / 2),
        **{f"pacs/validation/other/pass@{k}": 0.0 for k in (1, 2, 4)},
    }


def test_the_same_problem_name_in_two_sources_is_two_problems() -> None:
    asked = {("a", "1"): 1, ("b", "1"): 1}
    assert validation_metrics(asked, [("a", "1"), ("b", "1")], [1.0, 0.0]) == {
        "pacs/validation/a/pass@1": 1.0,
        "pacs/validation/b/pass@1": 0.0,
    }
