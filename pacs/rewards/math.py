"""The verifier of mathematical answers: a label 0 or 1 for a response, by its last boxed answer.

`compute_score` has the signature of verl's custom rewards, and is the same for training and for evaluation.
"""

import logging
from functools import lru_cache
from typing import Any

from pacs.rewards.bounds import MAX_CHARS, beyond_bounds
from pacs.rewards.equality import equal
from pacs.rewards.extract import final_part, last_boxed, unboxed_answer
from pacs.rewards.isolation import IsolationError, Limits, isolated
from pacs.rewards.notation import bare
from pacs.rewards.shortcut import grade_without_algebra
from pacs.rewards.verdict import Status, verdict

_log = logging.getLogger(__name__)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    unboxed: bool = False,
    accept_unevaluated: bool = False,
    timeout_seconds: float = Limits.timeout_seconds,
    memory_mib: int = Limits.memory_mib,
    workers: int = Limits.workers,
) -> dict[str, Any]:
    r"""Grade one response. What goes wrong with an answer is a status; it raises nothing.

    Safe to call from any thread; a comparison that takes algebra is made in another process, and the thread waits.

    Args:
        data_source: the name of the data set; every one is graded alike.
        solution_str: the response, as text.
        ground_truth: the right answer, without a box.
        extra_info: unused; verl passes it.
        unboxed: where nothing is boxed, take the answer after "the answer is", or else the last in bold.
        accept_unevaluated: let an answer that still has to be calculated (`47+38` for 85) be right.
        timeout_seconds, memory_mib, workers: of `isolation.Limits`.

    Returns:
        The `verdict`. `predicted` is what the last box of the final part holds; `timeout` says that the comparison took
        longer than it may, `error` that it raised, or that the gold answer cannot be compared.

    Raises:
        ValueError: If a limit is not above 0.
        IsolationError: If no process can be started for the comparison.
    """
    part = final_part(str(solution_str))
    answer = last_boxed(part) or (unboxed_answer(part) if unboxed else None) or ""
    predicted = answer[: MAX_CHARS + 1]  # beyond bounds, whatever follows
    limits = Limits(timeout_seconds, memory_mib, workers)
    status = grade(predicted, str(ground_truth), limits) if predicted else "no_answer"
    return verdict(status, predicted)


def grade(predicted: str, gold: str, limits: Limits = Limits()) -> Status:  # noqa: B008 (it is frozen)
    """Whether two answers are equal: by their text or as numbers where that decides, else by math-verify.

    Args:
        predicted: an answer without its box.
        gold: the right one.
        limits: what math-verify may take.

    Returns:
        `correct` or `wrong` (an answer `beyond_bounds` is wrong); `timeout`; `error` if math-verify raised or its
        process died, or the gold answer is beyond bounds. The log has the reason of an error.

    Raises:
        IsolationError: If no process can be started.
    """
    try:
        return "correct" if _equal(bare(predicted), bare(gold), limits) else "wrong"
    except TimeoutError:
        return "timeout"
    except IsolationError:
        raise
    except Exception as error:
        _log.warning(
            "%r cannot be compared with the gold answer %r: %s: %s", predicted, gold, type(error).__name__, error
        )
        return "error"


@lru_cache(maxsize=2**16)  # the responses of a group often give the same answer; what is raised is not kept
def _equal(predicted: str, gold: str, limits: Limits) -> bool:
    known = grade_without_algebra(predicted, gold)
    if known is not None:
        return known == "correct"
    if too_much := beyond_bounds(gold):
        raise ValueError(too_much)
    return not beyond_bounds(predicted) and bool(isolated(equal, predicted, gold, limits=limits))


def gold_problem(gold: str, limits: Limits = Limits()) -> str | None:  # noqa: B008 (it is frozen)
    """Why responses cannot be graded by this gold answer, in words for the user; None if they can.

    For the preparation of data. math-verify must take it for equal to itself (which `grade` would not ask, as the text
    is the same), and be able to compare it with another answer.
    """
    gold = bare(gold)
    if not gold:
        return "it is empty"
    if too_much := beyond_bounds(gold):
        return too_much
    if last_boxed(f"\\boxed{{{gold}}}") != gold:
        return "its braces do not match"
    try:
        if not isolated(equal, gold, gold, limits=limits):
            return "math-verify does not take it for equal to itself"
        isolated(equal, "1", gold, limits=limits)
    except IsolationError:
        raise
    except Exception as error:
        return f"math-verify cannot compare it ({type(error).__name__}: {error})"
    return None
