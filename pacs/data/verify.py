"""Whether responses can be graded by a gold answer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pacs.rewards.math import gold_problem

# Each call blocks until math-verify has answered; more than one keeps its processes busy.
THREADS = 4


def gold_problems(golds: Sequence[str]) -> list[str | None]:
    """Why a gold answer cannot be graded by; None for those that can."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(gold_problem, golds))
