"""How good values are: beside enumeration of all outcomes, and loops over all choices."""

import itertools
import math
import random

import numpy as np
import pytest

from pacs.base.statistics import estimate
from pacs.evaluation.genac.statistics import (
    Truth,
    calibration,
    explained,
    label_noise,
    mean_error,
    squared_errors,
    top_one,
)


def outcomes(chance: float, count: int) -> list[tuple[float, float]]:
    """Each mean of so many outcomes, with its probability."""
    return [(r / count, math.comb(count, r) * chance**r * (1 - chance) ** (count - r)) for r in range(count + 1)]


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("count", [2, 5])
def test_the_error_is_on_the_average_that_to_the_true_value(chance: float, count: int) -> None:
    """All outcomes of all continuations, enumerated."""
    for predicted in (0.0, 0.3, 1.0):
        expected = 0.0
        for value, probability in outcomes(chance, count):
            truth = Truth(np.array([value]), label_noise([value], count), np.array([0]))
            expected += probability * squared_errors([predicted], truth)[0]
        assert expected == pytest.approx((predicted - chance) ** 2, abs=1e-12)


def test_a_predicted_mean_s_noise_is_taken_out_too() -> None:
    one, other, count = 0.3, 0.6, 4
    expected = 0.0
    for (value, p), (predicted, q) in itertools.product(outcomes(one, count), outcomes(other, count)):
        truth = Truth(np.array([value]), label_noise([value], count), np.array([0]))
        expected += p * q * squared_errors([predicted], truth, label_noise([predicted], count))[0]
    assert expected == pytest.approx((one - other) ** 2, abs=1e-12)


def test_the_variance_is_on_the_average_that_of_true_values() -> None:
    """Of states drawn from three that there are: the draws and their outcomes, enumerated."""
    chances, count = (0.2, 0.5, 0.9), 3
    true = np.var(chances)
    expected = 0.0
    for drawn in itertools.product(chances, repeat=2):
        for (a, p), (b, q) in itertools.product(*(outcomes(chance, count) for chance in drawn)):
            truth = Truth(np.array([a, b]), label_noise([a, b], count), np.array([0, 1]))
            expected += p * q * truth.variance / 9
    assert expected == pytest.approx(true, abs=1e-12)


def test_one_continuation_says_nothing_of_its_noise() -> None:
    with pytest.raises(ValueError, match="two continuations or more"):
        label_noise([0.5], 1)


def test_each_problem_weighs_alike() -> None:
    truth = Truth(np.array([0.0, 1.0, 1.0, 1.0]), np.zeros(4), np.array([3, 7, 7, 7]))
    assert truth.weights.tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    errors = squared_errors([1.0, 1.0, 0.0, 1.0], truth)
    assert mean_error(errors, truth) == estimate([1.0, 1 / 3])
    assert explained(errors, truth) == pytest.approx(1 - (2 / 3) / truth.variance)
    assert truth.variance == pytest.approx((0.25 * 0.5 + 3 * 0.25 / 6) / (1 - 1 / 4 - 3 / 36))


def test_what_does_not_vary_is_not_explained() -> None:
    truth = Truth(np.array([0.5, 0.5]), np.zeros(2), np.array([0, 1]))
    assert explained(squared_errors([0.5, 0.4], truth), truth) is None
    exact = Truth(np.array([0.2, 0.5]), np.zeros(2), np.array([0, 1]))
    assert explained(squared_errors([0.2, 0.5], exact), exact) == 1


def test_calibration_is_by_the_score() -> None:
    truth = Truth(np.array([0.1, 0.3, 1.0, 0.0]), np.zeros(4), np.arange(4))
    bins = calibration([0.3, 0.34, 1.0, 0.25], truth)
    assert [(b.score, b.states) for b in bins] == [(3, 3), (10, 1)]
    assert (bins[0].predicted, bins[0].value) == pytest.approx((0.89 / 3, 0.4 / 3))
    assert [b.score for b in calibration([s / 10 for s in range(11)], Truth(*np.zeros((2, 11)), np.arange(11)))] == [
        *range(11)
    ]


def naive_top(predicted: list[float], known: list[float], size: int) -> tuple[float, float, float]:
    right = lots = chance = 0.0
    choices = list(itertools.combinations(range(len(known)), size))
    for chosen in choices:
        best = {i for i in chosen if known[i] == max(known[j] for j in chosen)}
        highest = {i for i in chosen if predicted[i] == max(predicted[j] for j in chosen)}
        right += bool(best & highest)
        lots += len(best & highest) / len(highest)
        chance += len(best) / size
    return right / len(choices), lots / len(choices), chance / len(choices)


def test_the_best_candidate_is_looked_for_in_all_choices() -> None:
    drawn = random.Random(0)
    sets = [
        ([drawn.randrange(4) / 10 for _ in range(n)], [drawn.randrange(5) / 4 for _ in range(n)]) for n in (8, 8, 5, 3)
    ]
    for size, there in ((2, 4), (4, 3), (8, 2)):
        found = top_one(sets, size)
        assert found is not None
        expected = np.mean([naive_top(*one, size) for one in sets if len(one[0]) >= size], axis=0)
        assert (found.right, found.by_lot, found.chance) == pytest.approx(tuple(expected))
        assert found.sets == there
    assert top_one(sets, 9) is None


def test_ties_count_as_right_and_by_lot_as_their_share() -> None:
    found = top_one([([0.5, 0.5, 0.5, 0.1], [1.0, 0.0, 0.0, 0.0])], 4)
    assert found is not None
    assert (found.right, found.by_lot, found.chance) == pytest.approx((1.0, 1 / 3, 1 / 4))
