"""Whether the verifier takes a gold answer for right."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pacs.rewards.math import compute_score

# Each call blocks until its answer is graded; more than one keeps the grading processes busy.
THREADS = 4


def verdicts(source: str, golds: Sequence[str]) -> list[str]:
    """The verifier's status for each gold answer against itself; `correct` is what it should be."""

    def grade(gold: str) -> str:
        return str(compute_score(source, f"\\boxed{{{gold}}}", gold)["status"])

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(grade, golds))
