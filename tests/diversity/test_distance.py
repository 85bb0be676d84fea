"""The mean over pairs, against the pairs themselves."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pacs.diversity.measures import mean_cosine_distance, unit_vectors


@pytest.mark.parametrize(("n", "width"), [(2, 1), (2, 3), (7, 5), (40, 384), (128, 16)])
def test_it_is_the_mean_over_all_pairs(n: int, width: int) -> None:
    rows = np.random.default_rng(n).normal(size=(n, width)).astype(np.float32)
    naive = [
        1 - float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))
        for a, b in combinations(rows.astype(np.float64), 2)
    ]
    found = mean_cosine_distance(unit_vectors(rows))
    assert found == pytest.approx(sum(naive) / len(naive), rel=1e-12)
    assert found == pytest.approx(pdist(rows.astype(np.float64), "cosine").mean(), rel=1e-12)


def test_nothing_is_lost_where_responses_are_almost_the_same() -> None:
    """1 - cos of a small angle is half of its square, which a difference from 1 in 64 bits would not show."""
    angle = 1e-8
    units = unit_vectors(np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]]))
    assert mean_cosine_distance(units) == pytest.approx(angle**2 / 2, rel=1e-6)


def test_equal_and_opposite_responses() -> None:
    assert mean_cosine_distance(unit_vectors(np.full((5, 3), 0.1, dtype=np.float32))) == pytest.approx(0, abs=1e-30)
    assert mean_cosine_distance(unit_vectors(np.array([[2.0, 0.0], [-3.0, 0.0]]))) == 2.0


def test_length_says_nothing() -> None:
    rows = np.random.default_rng(0).normal(size=(6, 4))
    scaled = rows * np.arange(1, 7)[:, None]
    assert mean_cosine_distance(unit_vectors(scaled)) == pytest.approx(mean_cosine_distance(unit_vectors(rows)))


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_row_without_a_direction_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="no direction"):
        unit_vectors(np.array([[1.0, 0.0], [bad, 0.0]]))


def test_one_response_makes_no_pair() -> None:
    with pytest.raises(ValueError, match="no pair"):
        mean_cosine_distance(np.ones((1, 1)))
