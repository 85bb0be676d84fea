"""Errors of values against simulated outcomes, and rankings by hand."""

import random
from statistics import fmean

import pytest

from recipes.genac_arithmetic.measures import quality, ranking


def test_the_noise_of_the_shares_is_taken_off() -> None:
    rng = random.Random(0)
    worth = [rng.random() for _ in range(4000)]
    values = [min(1.0, max(0.0, w + rng.gauss(0, 0.2))) for w in worth]
    shares = [sum(rng.random() < w for _ in range(8)) / 8 for w in worth]
    mse = fmean((v - w) ** 2 for v, w in zip(values, worth, strict=True))
    spread = fmean((w - fmean(worth)) ** 2 for w in worth)
    found = quality(values, shares, 8)
    assert found.mse == pytest.approx(mse, abs=0.002)
    assert found.explained == pytest.approx(1 - mse / spread, abs=0.03)
    assert fmean((v - s) ** 2 for v, s in zip(values, shares, strict=True)) > mse + 0.01


def test_true_values_have_no_error_and_the_mean_explains_nothing() -> None:
    rng = random.Random(1)
    worth = [rng.choice([0.1, 0.5, 0.9]) for _ in range(4000)]
    shares = [sum(rng.random() < w for _ in range(16)) / 16 for w in worth]
    assert quality(worth, shares, 16).mse == pytest.approx(0, abs=0.001)
    assert quality([fmean(shares)] * len(shares), shares, 16).explained == pytest.approx(0, abs=0.001)


def test_ties_count_as_right_or_are_drawn() -> None:
    found = ranking([([0.4, 0.4, 0.1], [0.2, 0.9, 0.0]), ([0.3, 0.2], [0.1, 0.7])])
    assert (found.top, found.drawn) == (0.5, 0.25)
    assert found.chance == pytest.approx((1 / 3 + 1 / 2) / 2)
