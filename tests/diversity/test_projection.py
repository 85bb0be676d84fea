"""The plane, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from pacs.diversity.measures import Array, mean_cosine_distance, unit_vectors
from pacs.diversity.picture import project


def some_units(seed: int, n: int, width: int = 6) -> Array:
    return unit_vectors(np.random.default_rng(seed).normal(1.0, [3, 2, 1, 0.5, 0.2, 0.1][:width], size=(n, width)))


def test_of_one_problem_and_model_it_is_the_principal_components() -> None:
    units = some_units(0, 50)
    (points,) = project([{"p": units}])
    expected = PCA(n_components=2, svd_solver="full").fit(units)
    for found, theirs in zip(points.plane.T, expected.transform(units).T, strict=True):
        assert found == pytest.approx(theirs) or found == pytest.approx(-theirs)
    assert points.shares == pytest.approx(expected.explained_variance_ratio_)


def test_the_spread_is_the_mean_cosine_distance() -> None:
    """With a plane there is nothing but the plane: what lies along the two axes adds up to Eq. 15."""
    model = {"p": some_units(0, 9, 2), "q": some_units(1, 30, 2), "alone": some_units(2, 1, 2)}
    (points,) = project([model])
    assert sum(points.shares) == pytest.approx(1)
    start, along = 0, []
    for problem in ("p", "q"):
        part = points.plane[start : start + len(model[problem])]
        assert part.mean(axis=0) == pytest.approx(0, abs=1e-12)
        along.append(np.square(part).sum() / (len(part) - 1))
        assert points.weights[start : start + len(part)].sum() == pytest.approx(0.5)
        start += len(part)
    assert start == len(points.plane)  # the response that is alone is not drawn
    assert np.mean(along) == pytest.approx(np.mean([mean_cosine_distance(model[p]) for p in ("p", "q")]))


def test_a_model_with_many_responses_does_not_decide_the_axes() -> None:
    """Each model counts the same: repeating all responses of one changes nothing but the n - 1."""
    few, many = {"p": some_units(0, 200)}, {"p": some_units(1, 200)}
    repeated = {"p": np.tile(many["p"], (20, 1))}
    once, again = project([few, many]), project([few, repeated])
    assert once[0].plane == pytest.approx(again[0].plane, abs=0.01)


def test_nothing_to_draw() -> None:
    same = {"p": np.tile(some_units(0, 1), (4, 1))}
    assert project([same]) is None
    assert project([{"p": some_units(0, 5)}, same]) is None
    assert project([{"p": some_units(0, 1)}]) is None
    assert project([{"p": np.zeros((0, 1))}]) is None
