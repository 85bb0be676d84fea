"""The estimator against its definition: the share of all k-subsets that hold a right sample."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.base.statistics import pass_at_k


def by_counting_subsets(n: int, c: int, k: int) -> float:
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    return sum(any(subset) for subset in subsets) / len(subsets)


def test_equals_counting_all_subsets() -> None:
    for n in range(1, 9):
        for c in range(n + 1):
            for k in range(1, n + 1):
                assert pass_at_k(n, c, k) == pytest.approx(by_counting_subsets(n, c, k), abs=1e-15)


def published(n: int, c: int, k: int) -> float:
    """As Chen et al. (2021) print it."""
    if n - c < k:
        return 1.0
    return 1.0 - float(np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


def test_equals_the_published_estimator() -> None:
    for n in (8, 128, 200, 4096):
        for k in {1, 4, 8, n // 2, n}:
            for c in {0, 1, 2, n // 3, n - 1, n}:
                assert pass_at_k(n, c, k) == pytest.approx(published(n, c, k), abs=1e-12)


def test_pass_at_1_is_the_share_of_right_samples() -> None:
    assert pass_at_k(8, 3, 1) == 3 / 8
    assert pass_at_k(4096, 1, 1) == 1 / 4096


def test_ends() -> None:
    assert pass_at_k(4096, 0, 4096) == 0.0
    assert pass_at_k(4096, 1, 4096) == 1.0
    assert pass_at_k(8, 8, 1) == 1.0
    assert pass_at_k(8, 4, 5) == 1.0  # only four are wrong


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 4096).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_is_a_probability_and_grows_with_k_and_c(ncs: tuple[int, int, int]) -> None:
    n, c, k = ncs
    value = pass_at_k(n, c, k)
    assert 0.0 <= value <= 1.0
    if k < n:
        assert pass_at_k(n, c, k + 1) >= value
    if c < n:
        assert pass_at_k(n, c + 1, k) >= value


@pytest.mark.parametrize("c", [1, 2, 100, 2048, 4000])
@pytest.mark.parametrize("k", [2, 64, 1024, 4000])
def test_is_exact_at_n_4096(c: int, k: int) -> None:
    """The product form, in exact fractions: 1 - prod (1 - k / i) over i in n-c+1..n."""
    missed = Fraction(1)
    for i in range(4096 - c + 1, 4097):
        missed *= Fraction(max(0, i - k), i)
    assert pass_at_k(4096, c, k) == float(1 - missed)


@pytest.mark.parametrize(
    ("n", "c", "k", "names"),
    [
        (8, 2, 9, "k=9"),
        (8, 2, 0, "k=0"),
        (8, 2, -1, "k=-1"),
        (8, 9, 1, "c=9"),
        (8, -1, 1, "c=-1"),
        (0, 0, 1, "n=0"),
        (-1, 0, 1, "n=-1"),
    ],
)
def test_refuses_impossible_counts(n: int, c: int, k: int, names: str) -> None:
    with pytest.raises(ValueError, match=f"^{names}"):
        pass_at_k(n, c, k)
