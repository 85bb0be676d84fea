import random
from itertools import combinations, permutations

import pytest

from pacs.report import trends
from pacs.report.trends import chance, describe, number, share, smooth, wobble


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.19234, "0.192"),
        (17.804, "17.8"),
        (999.4, "999"),
        (4205.2, "4,205"),
        (2.86e-7, "2.86e-07"),
        (-1.2, "−1.2"),
        (-4205.2, "−4,205"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_shares_have_two_decimals():
    assert [share(value) for value in (0.0, 0.324, 0.935, 1.0)] == ["0.00", "0.32", "0.94", "1.00"]


def test_the_wobble_is_the_median_distance_from_midway():
    assert wobble([0.0, 1.0, -2.0, 4.0, 6.0]) == 2.0  # of 2, 4.5, 2
    assert wobble([1.0, 2.0, 3.0, 4.0]) == 0.0
    assert wobble([5.0, 7.0]) == 0.0


def test_smoothing_takes_means_over_a_tenth_and_fewer_at_the_ends():
    values = [float(i % 2) for i in range(20)]
    assert smooth(values)[:2] == [0.5, pytest.approx(1 / 3)]
    assert smooth(values[:19]) == values[:19]


def told(values, **options):
    return describe(range(1, len(values) + 1), values, **options)


def test_a_rise_and_a_fall_name_their_ends():
    assert told([0.32, 0.5, 0.7, 0.8, 0.9, 0.93], form=share) == "rose from 0.32 to 0.93"
    assert told([0.192, 0.1, 0.07, 0.05, 0.03, 0.0223], unit=" nats") == "fell from 0.192 to 0.0223 nats"


def test_of_a_few_points_only_the_ends_are_told():
    assert told([0.36, 0.85, 0.91], form=share) == "went from 0.36 to 0.91"
    assert told([0.36], form=share) == "was 0.36 at step 1"


def test_noise_is_no_trend():
    """Ends 0.1 apart, and so are neighbours."""
    values = [0.4, 0.5, 0.4, 0.5, 0.4, 0.5]
    assert told(values, form=share) == "stayed about 0.45 (0.40 to 0.50)"


def test_a_constant_is_one():
    assert told([0.75] * 6, form=share) == "stayed at 0.75"
    assert told([0.751, 0.752, 0.751, 0.752, 0.753, 0.7533], form=share) == "stayed at 0.75"


def test_a_collapse_is_told_although_the_end_is_above_the_start():
    values = [0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.45, 0.4]
    assert told(values, form=share) == "peaked at about 0.90 (step 4), ended at 0.40"
    assert told([-value for value in values], form=share) == "fell to about -0.90 (step 4), ended at -0.40"


@pytest.mark.parametrize("points", [5, 6, 7, 8, 10, 13, 20, 40, 90, 200])
def test_independent_values_are_called_a_trend_in_one_case_of_twenty_at_most(points):
    rng = random.Random(points)
    for draw in (lambda: rng.gauss(0, 1), rng.random, lambda: rng.expovariate(1) ** 2):
        curves = [[draw() for _ in range(points)] for _ in range(1000)]
        trends = sum("stayed" not in told(curve) for curve in curves)
        assert trends <= 1000 * 0.05 + 3 * (1000 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize("points", [0, 1, 2, 5, 6])
def test_the_chance_is_that_of_counting_all_orders(points):
    orders = list(permutations(range(points)))
    wrong = [sum(a > b for a, b in combinations(order, 2)) for order in orders]
    for order, own in zip(orders, wrong, strict=True):
        assert chance(order) == pytest.approx(sum(other <= own for other in wrong) / len(orders))


def test_of_many_points_the_chance_is_nearly_the_same(monkeypatch):
    values = [0.01 * i + random.Random(i).gauss(0, 1) for i in range(60)]
    exact = chance(values[:20], values[20:])
    monkeypatch.setattr(trends, "MANY_POINTS", 10)
    assert 0.001 < exact < 0.5
    assert chance(values[:20], values[20:]) == pytest.approx(exact, rel=0.05)


def test_the_chance_of_two_parts_is_that_of_both_orders():
    orders = [(head, tail) for head in permutations(range(3)) for tail in permutations(range(4))]
    wrong = [sum(a > b for part in parts for a, b in combinations(part, 2)) for parts in orders]
    for parts, own in zip(orders, wrong, strict=True):
        assert chance(*parts) == pytest.approx(sum(other <= own for other in wrong) / len(orders))


def test_a_slow_trend_in_noise_is_told():
    rng = random.Random(0)
    values = [0.4 + 0.001 * step + rng.gauss(0, 0.01) for step in range(300)]
    assert told(values, form=share) == f"rose from {values[0]:.2f} to {values[-1]:.2f}"
