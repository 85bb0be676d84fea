"""Whether responses can be graded by a gold answer."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from pacs.rewards import code, countdown, exact_match, multiple_choice, reference_probability
from pacs.rewards.isolation import Limits
from pacs.rewards.math import gold_problem

# A call that needs sympy blocks until it has answered; more than one keeps its processes busy.
THREADS = 4
#: Many times what a comparison takes: what is dropped must not depend on how busy the machine is.
LIMITS = Limits(timeout_seconds=30)
#: By verifier; of another one all golds can be graded by.
PROBLEMS: Final[dict[str, Callable[[str], str | None]]] = {
    "math": partial(gold_problem, limits=LIMITS),
    "multiple_choice": multiple_choice.gold_problem,
    "code": code.gold_problem,
    "exact_match": exact_match.gold_problem,
    "countdown": countdown.gold_problem,
    "reference_probability": reference_probability.gold_problem,
}


def gold_problems(golds: Sequence[str], verifier: str) -> list[str | None]:
    """Why a verifier cannot grade by a gold answer, for each; None for those by which it can."""
    if verifier not in PROBLEMS:
        return [None] * len(golds)
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(PROBLEMS[verifier], golds))
