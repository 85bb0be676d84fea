"""The metrics of a validation: the estimator that evaluation reports (`pacs.evaluation`), by data source."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from pacs.base.statistics import pass_at_k


def validation_metrics(
    asked: Mapping[tuple[str, str], int], problems: Sequence[tuple[str, str]], scores: Sequence[float]
) -> dict[str, float]:
    """pass@k for each power of two up to the responses a problem, by data source.

    A source with a score other than 0 and 1 has no right and wrong responses: in the place of its pass@k it has the
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
