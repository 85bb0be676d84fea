import random

import pytest

from pacs.report.trends import describe, number, share, smooth, wobble


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


def test_white_noise_is_rarely_called_a_trend():
    """About one curve of twenty by the rule; never as many as one of eight."""
    rng = random.Random(0)
    curves = [[rng.gauss(0, 1) for _ in range(200)] for _ in range(400)]
    trends = [curve for curve in curves if "stayed" not in told(curve)]
    assert len(trends) < 50


def test_a_slow_trend_in_noise_is_told():
    rng = random.Random(0)
    values = [0.4 + 0.001 * step + rng.gauss(0, 0.01) for step in range(300)]
    assert told(values, form=share) == f"rose from {values[0]:.2f} to {values[-1]:.2f}"
