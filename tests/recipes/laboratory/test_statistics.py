"""Each number by another way to calculate it."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, variance

import numpy as np
import pytest

from recipes.laboratory.statistics import (
    difference,
    holm,
    jackknife,
    measures,
    over_seeds,
    over_seeds_and_problems,
    reached,
)


def test_measures_by_counting() -> None:
    """pass@8 by all ways to draw 8 of 10 samples, of which 0, 1 and 10 are right."""
    evaluation = {"samples": 10, "right": [0, 1, 10], "distinct": [0, 1, 4], "greedy": 0.5, "entropy": None}
    found = measures(evaluation)
    draws = [[any(i < right for i in drawn) for drawn in combinations(range(10), 8)] for right in (0, 1, 10)]
    assert found["pass@8"] == pytest.approx(fmean(fmean(each) for each in draws))
    assert found["pass@1"] == pytest.approx(11 / 30)
    assert found == {"pass@1": found["pass@1"], "pass@8": found["pass@8"], "distinct": 5 / 3, "greedy": 0.5}


def test_the_interval_over_seeds() -> None:
    """2.306 is the 97.5th percentile of Student's t with 8 degrees of freedom, as in any table."""
    values = [0.1, 0.4, 0.2, 0.9, 0.5, 0.3, 0.7, 0.8, 0.6]
    found = over_seeds(values)
    assert found.mean == pytest.approx(0.5)
    assert found.half == pytest.approx(2.306 * math.sqrt(variance(values) / 9), rel=1e-4)
    assert over_seeds([0.3]).half is None


def test_the_jackknife_of_a_mean_is_student_s_interval_and_that_of_a_ratio_is_near_its_spread() -> None:
    values = [0.1, 0.4, 0.2, 0.9, 0.5, 0.3, 0.7, 0.8, 0.6]
    assert jackknife(values, fmean).half == pytest.approx(over_seeds(values).half)
    assert jackknife([0.3], fmean).half is None
    generator, spread, halves = np.random.default_rng(0), [], []

    def ratio(pairs: Sequence[tuple[float, float]]) -> float:
        return sum(a for a, _ in pairs) / sum(b for _, b in pairs)

    for _ in range(400):
        below = generator.uniform(1, 3, size=8)
        found = jackknife([(b * generator.normal(0.5, 0.1), b) for b in below], ratio)
        spread.append(found.mean)
        halves.append(found.half)
    assert fmean(abs(mean - 0.5) <= half for mean, half in zip(spread, halves, strict=True)) > 0.92
    assert math.isnan(jackknife([(0.0, 0.0)], lambda pairs: math.nan).mean)
    assert jackknife([(1.0, 2.0), (0.0, 0.0)], lambda p: ratio(p) if sum(b for _, b in p) else math.nan).half is None


def test_welch_s_difference() -> None:
    """By the formula of Welch and Satterthwaite; 8 and 5 seeds of other variances."""
    ours = dict(enumerate([0.50, 0.52, 0.47, 0.51, 0.55, 0.49, 0.50, 0.53]))
    theirs = dict(enumerate([0.40, 0.61, 0.35, 0.48, 0.30]))
    a, b = variance(ours.values()) / 8, variance(theirs.values()) / 5
    freedom = (a + b) ** 2 / (a**2 / 7 + b**2 / 4)
    from scipy.special import stdtr, stdtrit

    found = difference(ours, theirs, pairs=False)
    assert found is not None
    mean, error = fmean(ours.values()) - fmean(theirs.values()), math.sqrt(a + b)
    assert found.mean == pytest.approx(mean)
    assert (found.high - found.low) / 2 == pytest.approx(stdtrit(freedom, 0.975) * error)
    assert found.p == pytest.approx(2 * stdtr(freedom, -abs(mean) / error))


def test_pairs_are_of_equal_seeds() -> None:
    """Whatever order they come in, and without the seeds that one of both lacks."""
    ours, theirs = {0: 0.5, 1: 0.7, 2: 0.95, 9: 0.1}, {2: 0.85, 1: 0.65, 0: 0.4}
    found = difference(ours, theirs, pairs=True)
    assert found is not None
    differences = [0.1, 0.05, 0.1]
    assert found.mean == pytest.approx(fmean(differences))
    half = over_seeds(differences).half
    assert half is not None
    assert found.high == pytest.approx(found.mean + half)
    assert difference({0: 0.5}, theirs, pairs=True) is None


@pytest.mark.filterwarnings("error")
def test_one_arm_that_never_varies_is_compared_without_a_warning() -> None:
    found = difference(dict.fromkeys(range(3), 1.0), {0: 0.25, 1: 0.5, 2: 0.75}, pairs=False)
    assert found is not None
    half = over_seeds([0.25, 0.5, 0.75]).half
    assert half is not None
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_what_never_varies_differs_for_certain() -> None:
    found = difference(dict.fromkeys(range(3), 1.0), dict.fromkeys(range(3), 0.5), pairs=False)
    assert found is not None
    assert (found.low, found.high, found.p) == (0.5, 0.5, 0.0)
    same = difference(dict.fromkeys(range(3), 1.0), dict.fromkeys(range(3), 1.0), pairs=True)
    assert same is not None
    assert same.p == 1.0


@pytest.mark.parametrize(("ours", "theirs"), [((0.5, 0.7), (0.1, 0.2, 0.4)), ((1.0, 1.0, 1.0), (0.5, 0.5))])
def test_two_seeds_have_a_difference_and_no_p_value(ours: tuple[float, ...], theirs: tuple[float, ...]) -> None:
    found = difference(dict(enumerate(ours)), dict(enumerate(theirs)), pairs=False)
    assert found is not None
    assert found.mean == pytest.approx(fmean(ours) - fmean(theirs))
    assert found.p is None


@pytest.mark.parametrize("ps", [[0.01], [0.04, 0.01, 0.03], [0.5, 0.5, 0.001, 0.02], [0.2, 0.9, 0.9]])
def test_holm_is_the_closed_test_of_bonferroni(ps: list[float]) -> None:
    """A hypothesis is rejected if each set that it is in is: the least p of a set times the number of its members."""
    places = range(len(ps))
    closed = [
        max(
            min(1.0, size * min(ps[other] for other in members))
            for size in range(1, len(ps) + 1)
            for members in combinations(places, size)
            if place in members
        )
        for place in places
    ]
    assert holm(ps) == pytest.approx(closed)


#: Places of 20 problems in two bands, which take turns unevenly.
BANDS = [[place for place in range(20) if place % 4], list(range(0, 20, 4))]


def test_the_bootstrap_of_seeds_and_problems() -> None:
    """Its spread is that of the mean over drawn rows and over columns drawn in their bands, here one by one.

    The part of the rows alone is widened by sqrt(6 / 5).
    """
    generator = np.random.default_rng(1)
    table = generator.random((6, 1)) * 0.3 + generator.random((1, 20)) + generator.random((6, 20)) * 0.2
    drawn = []
    for _ in range(10_000):
        columns = [place for band in BANDS for place in generator.choice(band, size=len(band))]
        rows = generator.integers(6, size=6)
        of_columns = table[:, columns].mean()
        drawn.append(of_columns + (table[np.ix_(rows, columns)].mean() - of_columns) * (6 / 5) ** 0.5)
    found = over_seeds_and_problems(table, bands=BANDS)
    assert found.mean == pytest.approx(table.mean())
    assert [found.low, found.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.01)
    assert found == over_seeds_and_problems(table, bands=BANDS)


def test_problems_are_drawn_in_their_bands() -> None:
    """Where bands are all that problems differ by, a choice of as many of each changes nothing."""
    table = np.zeros((5, 20))
    table[:, BANDS[1]] = 1.0
    found = over_seeds_and_problems(table, bands=BANDS)
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))
    anyhow = over_seeds_and_problems(table, bands=[range(20)])
    assert anyhow.high - anyhow.low > 0.3


def test_the_spread_of_seeds_is_that_of_a_sample() -> None:
    """The bootstrap's standard deviation is the standard error with S - 1 in it, not with S."""
    seeds = np.random.default_rng(3).normal(size=(5, 1))
    found = over_seeds_and_problems(np.tile(seeds, 20), bands=BANDS)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * (variance(seeds[:, 0]) / 5) ** 0.5, rel=0.05)


def test_the_same_problems_are_drawn_for_a_difference() -> None:
    """Tables that differ by a constant, whatever the problem, differ by that alone."""
    problems = np.random.default_rng(2).random(50)
    ours, theirs = np.tile(problems + 0.1, (3, 1)), np.tile(problems, (4, 1))
    found = over_seeds_and_problems(ours, theirs, bands=[range(50)])
    assert (found.mean, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    alone = over_seeds_and_problems(ours, bands=[range(50)])
    assert alone.high - alone.low > 0.05


def test_where_a_level_is_first_reached() -> None:
    points = [{"x": 0.2, "cost": 10.0}, {"x": 0.4, "cost": 20.0}, {"x": 0.3, "cost": 30.0}, {"x": 0.9, "cost": 40.0}]
    between = reached(points, "x", 0.25)
    assert between is not None
    assert between.values == pytest.approx({"x": 0.25, "cost": 12.5})
    assert between.place == 1
    later = reached(points, "x", 0.6)
    assert later is not None
    assert later.values["cost"] == pytest.approx(35.0)
    assert later.place == 3
    first = reached(points, "x", 0.1)
    assert first is not None
    assert first.place == 0
    assert first.values["cost"] == 10.0
    assert reached(points, "x", 0.95) is None
