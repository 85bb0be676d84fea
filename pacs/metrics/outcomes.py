"""What reward functions and validations said, as metrics: numbers beside the score, by their names, and pass@k."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from statistics import fmean
from typing import Any

import numpy as np
import torch

from pacs.base.statistics import pass_at_k


def component_metrics(infos: Iterable[Mapping[str, Any]], besides: Iterable[str]) -> dict[str, float]:
    """The mean of each number that is said under a name, over the responses of which it is said and finite.

    Args:
        infos: what was said of each response, by name; others than numbers, true and false are left out.
        besides: names that are not meant.

    Returns:
        `pacs/reward/NAME/mean` -> value.
    """
    values: defaultdict[str, list[float]] = defaultdict(list)
    left_out = set(besides)
    for info in infos:
        # verl keeps the number that a function gives alone under this name; it is the score then.
        for name in info.keys() - left_out - (set() if "score" in info else {"acc"}):
            if _is_number(info[name]) and math.isfinite(value := float(info[name])):
                values[str(name)].append(value)
    return {f"pacs/reward/{name}/mean": math.fsum(given) / len(given) for name, given in sorted(values.items())}


def averaged(values: Iterable[Any]) -> bool:
    """Whether verl's validation can take means of what is said under a name: numbers, or text, which it leaves out."""
    said = [value for value in values if value is not None]
    return all(isinstance(value, str) for value in said) or all(map(_is_number, said))


def _is_number(value: Any) -> bool:
    """True and false among them, and tensors of one number, as verl's DAPO manager says its punishment."""
    return isinstance(value, Real | np.bool_) or (isinstance(value, torch.Tensor) and value.ndim == 0)


def validation_metrics(
    asked: Mapping[tuple[str, str], int], problems: Sequence[tuple[str, str]], scores: Sequence[float]
) -> dict[str, float]:
    """pass@k for each power of two up to the responses a problem, by data source.

    A source with a score other than 0 and 1 has no right and wrong responses: in place of its pass@k it has the
    number of such scores, `graded_count`.

    Args:
        asked: data source and problem -> how many responses were asked for. Those that are not there, because their
            rollout failed, count as wrong.
        problems: data source and problem of each response.
        scores: of each response: 1 right, 0 wrong. Finite.

    Returns:
        Metric -> value.
    """
    right = Counter(problem for problem, score in zip(problems, scores, strict=True) if score == 1)
    graded = Counter(source for (source, _), score in zip(problems, scores, strict=True) if score not in (0, 1))
    counts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for (source, problem), n in asked.items():
        if not graded[source]:
            counts[source].append((n, right[source, problem]))
    return {f"pacs/validation/{source}/graded_count": float(count) for source, count in graded.items()} | {
        f"pacs/validation/{source}/pass@{k}": fmean(pass_at_k(n, c, k) for n, c in pairs)
        for source, pairs in counts.items()
        for k in _powers_of_two(min(n for n, _ in pairs))
    }


def _powers_of_two(largest: int) -> list[int]:
    return [2**i for i in range(largest.bit_length())]
