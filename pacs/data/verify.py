"""Whether responses can be graded by a gold answer."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pacs.rewards.isolation import Limits
from pacs.rewards.math import gold_problem

# A call that needs sympy blocks until it has answered; more than one keeps its processes busy.
THREADS = 4
#: Many times what a comparison takes: what is dropped must not depend on how busy the machine is.
LIMITS = Limits(timeout_seconds=30)


def gold_problems(golds: Sequence[str]) -> list[str | None]:
    """Why a gold answer cannot be graded by; None for those that can."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(partial(gold_problem, limits=LIMITS), golds))
