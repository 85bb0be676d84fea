"""The verifier of mathematical answers: a label 0 or 1 for a response, by its last boxed answer.

`compute_score` has the signature of verl's custom rewards, and is the same for training and for evaluation.
"""

import logging
import re
import threading
from decimal import Decimal
from typing import Any, Final, Literal

from pacs.rewards.extract import final_part, last_boxed

Status = Literal["correct", "wrong", "no_answer", "timeout", "error"]

# math-verify runs here without a timeout: its own is signal.alarm, which works in the main thread only, and verl
# calls from others. Until answers are graded in processes that can be killed, the bound on their length is
# all that limits the work of one (and no status is "timeout").
MAX_ANSWER_CHARS: Final = 256

# math-verify rounds decimals to 6 places, and holds about 15 digits of them: it decides on those that are closer or
# longer than this, so that the fast path never says other than it would.
CLOSE: Final = Decimal("1e-5")
DECIMAL_CHARS: Final = 15

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(rf"(?=.{{1,{DECIMAL_CHARS}}}$)[+-]?(\d+(\.\d+)?|\.\d+)", re.ASCII)
# latex2sympy's parser shares caches between its instances without a lock.
_math_verify_lock = threading.Lock()


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None
) -> dict[str, Any]:
    r"""Grade one response. Raises nothing: what goes wrong is a status.

    Args:
        data_source: the name of the data set; every one is graded alike.
        solution_str: the response, as text.
        ground_truth: the right answer, without a box.
        extra_info: unused; verl passes it.

    Returns:
        `score`: 1.0 if the answer is right, else 0.0. `predicted`: the content of the last `\boxed{}`, at most
        `MAX_ANSWER_CHARS` of it, "" if there is none. `status`: `correct`, `wrong`, `no_answer`, or `error` where
        the answer could not be compared (`timeout` is reserved).
    """
    predicted = ""
    try:
        predicted = last_boxed(final_part(solution_str)) or ""
        status = grade(predicted, str(ground_truth)) if predicted else "no_answer"
    except Exception:
        status = "error"
    return {
        "score": 1.0 if status == "correct" else 0.0,
        "predicted": predicted[:MAX_ANSWER_CHARS],
        "status": status,
    }


def grade(predicted: str, gold: str) -> Status:
    """Whether two answers are equal: by their text or value where that decides, else by math-verify.

    Args:
        predicted: an answer without its box.
        gold: the right one.

    Returns:
        `correct`, `wrong`, or `error` if a comparison raised, or the gold answer is too long to compare.
    """
    predicted, gold = _normalise(predicted), _normalise(gold)
    if predicted == gold:
        return "correct"
    if len(gold) > MAX_ANSWER_CHARS:
        return "error"
    if len(predicted) > MAX_ANSWER_CHARS:
        return "wrong"
    return _grade_numbers(predicted, gold) or _grade_by_math_verify(predicted, gold)


def _grade_numbers(predicted: str, gold: str) -> Status | None:
    """The fast path: None where it takes more than comparing two numbers."""
    if _INTEGER.fullmatch(predicted) and _INTEGER.fullmatch(gold):
        return "correct" if int(predicted) == int(gold) else "wrong"
    if _DECIMAL.fullmatch(predicted) and _DECIMAL.fullmatch(gold):
        difference = abs(Decimal(predicted) - Decimal(gold))
        if difference == 0 or difference > CLOSE:
            return "wrong" if difference else "correct"
    return None


def _normalise(answer: str) -> str:
    """The answer without the dollars around it, with single spaces, and without the full stop after a number."""
    answer = answer.strip()
    if len(answer) > 1 and answer.startswith("$") and answer.endswith("$") and "$" not in answer[1:-1]:
        answer = answer[1:-1]
    answer = " ".join(answer.split())
    return answer[:-1] if _INTEGER.fullmatch(answer.removesuffix(".")) and answer.endswith(".") else answer


def _grade_by_math_verify(predicted: str, gold: str) -> Status:
    # Imported here, because it brings sympy, which a run on plain numbers never needs.
    from math_verify import parse, verify

    # It would warn in every process that its timeout is off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)

    raised = False
    with _math_verify_lock:
        # A box around it makes math-verify take all of the answer, as LaTeX.
        golds = parse(f"\\boxed{{{gold}}}", parsing_timeout=None)
        for candidate in parse(f"\\boxed{{{predicted}}}", parsing_timeout=None):
            for target in golds:
                try:
                    if verify(target, candidate, timeout_seconds=None, raise_on_error=True):
                        return "correct"
                except Exception:
                    raised = True
    return "error" if raised else "wrong"
