"""The bootstrap against all draws there are, and against the normal distribution it tends to."""

import random
from itertools import product
from statistics import fmean, pstdev

import numpy as np
import pytest
import scipy.stats

from pacs.base import statistics as bootstrap
from pacs.base.statistics import Estimate, estimate, estimate_mean


@pytest.mark.parametrize("values", [[0.0, 1.0, 0.25], [0.1, 0.2, 0.9, 0.4], [0.0, 0.0, 0.0, 1.0, 1.0]])
def test_equals_the_percentiles_of_all_draws(values: list[float]) -> None:
    means = [fmean(draw) for draw in product(values, repeat=len(values))]
    low, high = np.percentile(means, [2.5, 97.5], method="inverted_cdf")
    assert estimate(values) == Estimate(pytest.approx(fmean(values)), pytest.approx(low), pytest.approx(high))


def test_equals_a_loop_over_draws() -> None:
    generator = random.Random(1)
    values = [generator.random() for _ in range(40)]
    means = sorted(fmean(generator.choices(values, k=40)) for _ in range(20_000))
    low, high = means[500], means[19_500]
    # The 2.5th percentile of 10,000 means is off by 1.2% of the interval's half width as a rule.
    assert estimate(values).low == pytest.approx(low, abs=0.06 * (high - low) / 2)
    assert estimate(values).high == pytest.approx(high, abs=0.06 * (high - low) / 2)


def test_tends_to_the_normal_interval() -> None:
    generator = random.Random(2)
    values = [generator.random() for _ in range(2000)]
    half = 1.96 * pstdev(values) / 2000**0.5
    found = estimate(values)
    assert (found.low, found.high) == pytest.approx((fmean(values) - half, fmean(values) + half), abs=0.06 * half)


def test_the_same_values_have_the_same_interval_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).random(30)
    whole = estimate(values)
    assert estimate(values) == whole
    for block_values in (1, 7 * 30, 10**9):
        monkeypatch.setattr(bootstrap, "BLOCK_VALUES", block_values)
        assert estimate(values) == whole


def test_equal_values_leave_nothing_open() -> None:
    assert estimate([0.5] * 9) == Estimate(0.5, 0.5, 0.5)
    assert estimate([0.25]) == Estimate(0.25, 0.25, 0.25)


def test_the_mean_of_sets_draws_each_by_itself() -> None:
    """Against all draws of both; and sets weigh alike, whatever their sizes."""
    sets = [[0.0, 1.0, 0.25], [0.5, 0.9, 0.1, 0.3]]
    means = [(fmean(a) + fmean(b)) / 2 for a in product(sets[0], repeat=3) for b in product(sets[1], repeat=4)]
    low, high = np.percentile(means, [2.5, 97.5])
    found = estimate_mean(sets)
    assert found.mean == pytest.approx((fmean(sets[0]) + fmean(sets[1])) / 2)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_two_sets_are_less_uncertain_than_one() -> None:
    """Even of the same values, since they are drawn apart: by the root of two."""
    values = np.random.default_rng(4).random(60)
    one, two = estimate_mean([values]), estimate_mean([values, values])
    assert (one.high - one.low) / (two.high - two.low) == pytest.approx(2**0.5, rel=0.05)


@pytest.mark.parametrize("problems", [2, 50, 900])
def test_the_interval_is_scipys(problems: int) -> None:
    values = np.random.default_rng(3).random(problems)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=bootstrap.RESAMPLES, batch=100,
        rng=np.random.default_rng(bootstrap.SEED),
    ).confidence_interval  # fmt: skip
    ours = estimate(values)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12)


def test_a_set_may_have_one_problem() -> None:
    assert estimate_mean([[0.5], [0.25, 0.25]]) == Estimate(0.375, 0.375, 0.375)


def test_blocks_of_any_size_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [np.random.default_rng(1).random(30), np.random.default_rng(2).random(7)]
    found = estimate_mean(sets)
    for block_values in (1, 7 * 30):
        monkeypatch.setattr(bootstrap, "BLOCK_VALUES", block_values)
        assert estimate_mean(sets) == found


@pytest.mark.parametrize("sets", [[], [[]], [[0.5], []]])
def test_no_set_has_no_mean(sets: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"^no set, or one without a problem"):
        estimate_mean(sets)


def test_no_problem_has_no_mean() -> None:
    with pytest.raises(ValueError, match=r"^no set, or one without a problem"):
        estimate([])


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (0.0, 0.1, False), (2e-17, 0.1, False)],
)
def test_an_interval_excludes_zero_if_zero_is_outside(low: float, high: float, excludes: bool) -> None:
    assert Estimate((low + high) / 2, low, high).excludes_zero is excludes
