"""Settings in pairs: few combinations in which every value of each setting meets every value of each other one."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairwise(*settings: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations that hold every pair of values of two settings."""
    missing = {
        ((a, i), (b, j))
        for (a, first), (b, second) in combinations(enumerate(settings), 2)
        for i, j in product(range(len(first)), range(len(second)))
    }
    chosen = []
    candidates = list(product(*(range(len(values)) for values in settings)))
    while missing:
        best = max(candidates, key=lambda places: len(missing.intersection(combinations(enumerate(places), 2))))
        missing.difference_update(combinations(enumerate(best), 2))
        chosen.append(tuple(values[place] for values, place in zip(settings, best, strict=True)))
    return chosen
