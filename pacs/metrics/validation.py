"""The metrics of a validation: the estimator that evaluation reports (`pacs.evaluation`), by data source."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from pacs.evaluation.pass_at_k import pass_at_k


def validation_metrics(
    asked: Mapping[tuple[str, str], int], problems: Sequence[tuple[str, str]], scores: Sequence[float]
) -> dict[str, float]:
    """pass@k for each power of two up to the responses a problem, by data source.

    Args:
        asked: data source and problem -> how many responses were asked for. Those that are not there, because their
            rollout failed, count as wrong.
        problems: data source and problem of each response.
        scores: of each response; right is 1.

    Returns:
        Metric -> value.
    """
    right = Counter(problem for problem, score in zip(problems, scores, strict=True) if score == 1)
    counts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for (source, problem), n in asked.items():
        counts[source].append((n, right[source, problem]))
    return {
        f"pacs/validation/{source}/pass@{k}": fmean(pass_at_k(n, c, k) for n, c in pairs)
        for source, pairs in counts.items()
        for k in _powers_of_two(min(n for n, _ in pairs))
    }


def _powers_of_two(largest: int) -> list[int]:
    return [2**i for i in range(largest.bit_length())]
