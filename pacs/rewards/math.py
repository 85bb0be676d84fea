"""The verifier of mathematical answers: a label 0 or 1 for a response, by its last boxed answer.

`compute_score` has the signature of verl's custom rewards, and is the same for training and for evaluation.
"""

import logging
import re
import time
from functools import lru_cache
from typing import Any, Final

from pacs.rewards.answers import types
from pacs.rewards.answers.equality import check_value, compare
from pacs.rewards.answers.exact import NoValue
from pacs.rewards.answers.parse import Unreadable
from pacs.rewards.answers.read_answer import key_of, read
from pacs.rewards.answers.refusals import MAX_CHARS, TooMuch, check_operation
from pacs.rewards.answers.tokens import bare
from pacs.rewards.extract import answer_of, last_boxed
from pacs.rewards.isolation import IsolationError, Limits, ProcessDied, isolated
from pacs.rewards.reasoning import final_part
from pacs.rewards.verdict import Status, verdict

#: What was too slow is not tried again for so long; on a machine that is less busy then, it may pass.
TIMEOUT_KEPT_SECONDS: Final = 600.0

#: Of an answer in words: nobody writes a longer one as the gold answer has it.
MAX_WORDS: Final = 5
#: What `gold_problem` says of golds that can be read, and are no answers.
PLACEHOLDER: Final = "it stands for an answer that is not there"
SENTENCE: Final = f"it is a sentence of more than {MAX_WORDS} words, which nothing but its own text meets"

#: It may be one of thousands, as in 5,120, or stand between two answers.
_COMMA: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

_log = logging.getLogger(__name__)


class _GoldError(ValueError):
    """A gold answer cannot be compared with; the message says why."""


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

    Safe to call from any thread. What takes sympy is done in another process, and the thread waits.

    Args:
        data_source: the name of the data set; every one is graded alike.
        solution_str: the response, as text.
        ground_truth: the right answer, without a box.
        extra_info: may say where the answer begins (`pacs.rewards.reasoning`).
        unboxed: where nothing is boxed, take the answer in `<answer>`, after `####` or "the answer is", or in bold
            (`pacs.rewards.extract.unboxed_answer`).
        accept_unevaluated: let an answer that still has to be calculated (`47+38` for 85) be right.
        timeout_seconds, memory_mib, workers: of `isolation.Limits`.

    Returns:
        The `verdict`. `predicted` is what the last box of the final part holds; `unevaluated` says that it still has to
        be calculated, `timeout` that this took longer than it may, `error` that the gold answer cannot be compared.

    Raises:
        ValueError: If a limit is not above 0.
        IsolationError: If no process can be started for the comparison.
    """
    part = final_part(str(solution_str), extra_info)
    answer = answer_of(part, unboxed)
    limits = Limits(timeout_seconds, memory_mib, workers)
    if not answer:
        return verdict("no_answer")
    if len(answer) > MAX_CHARS:
        return verdict("wrong", answer)
    return verdict(grade(answer, str(ground_truth), limits, accept_unevaluated), answer)


def grade(
    predicted: str,
    gold: str,
    limits: Limits = Limits(),  # noqa: B008 (it is frozen)
    accept_unevaluated: bool = False,
) -> Status:
    """Whether an answer is the gold one: written alike, or read as the same thing and equal in value.

    Args:
        predicted: an answer without its box.
        gold: the right one.
        limits: what it may take to carry out an integral and the like.
        accept_unevaluated: whether an answer that still has to be calculated may be right.

    Returns:
        `correct`, `wrong` (also what cannot be read, or is beyond a bound), `unevaluated`; `timeout`; `error` if the
        gold answer cannot be read, and is not written alike. The log has the reason of an error.

    Raises:
        IsolationError: If no process can be started.
    """
    try:
        return _grade(bare(predicted), bare(gold), limits, accept_unevaluated)
    except TimeoutError:
        return "timeout"
    except _GoldError as error:
        _log.warning("no answer can be compared with the gold answer %r: %s", gold, error)
        return "error"


@lru_cache(maxsize=2**16)  # the responses of a group often give the same answer; what is raised is not kept
def _grade(predicted: str, gold: str, limits: Limits, accept_unevaluated: bool) -> Status:
    key = _key(predicted)
    if key and key == _key(gold):
        return "correct"
    target = _read_gold(gold, limits)
    if isinstance(target, types.Words) and not target.text.isupper() and key.casefold() == target.text:
        return "correct"
    try:
        answer = read(predicted)
        if isinstance(answer, types.Operation):
            if not accept_unevaluated and not isinstance(read(gold), types.Operation):
                return "unevaluated"
            answer = _carried_out(predicted, limits)
        status = compare(answer, target)
        if status == "wrong" and (apart := _COMMA.sub(", ", predicted)) != predicted:
            status = compare(read(apart), target)
    except (Unreadable, TooMuch, NoValue, RecursionError):
        return "wrong"
    return "correct" if status == "unevaluated" and accept_unevaluated else status


def _key(answer: str) -> str:
    """`key_of`, and nothing for what is too long."""
    try:
        return key_of(answer)
    except TooMuch:
        return ""


@lru_cache(maxsize=2**12)  # of all responses of a group
def _read_gold(gold: str, limits: Limits) -> types.Answer:
    try:
        answer = read(gold)
        if isinstance(answer, types.Operation):
            answer = _carried_out(gold, limits)
        check_value(answer)
    except (Unreadable, TooMuch, NoValue, RecursionError) as error:
        raise _GoldError(str(error)) from None
    return answer


def _carried_out(answer: str, limits: Limits) -> types.Answer:
    """An `Operation` as what it comes to. Raises Unreadable if that is nothing, TimeoutError and IsolationError."""
    outcome = _tried(answer, limits, int(time.monotonic() // TIMEOUT_KEPT_SECONDS))
    if isinstance(outcome, Exception):
        raise outcome
    if isinstance(value := read(outcome), types.Operation):
        raise Unreadable(f"an operation is left of it: {value.name}")
    return value


@lru_cache(maxsize=2**12)
def _tried(answer: str, limits: Limits, period: int) -> str | Exception:
    """What an operation comes to, or why that is not known; tried again in another period."""
    from pacs.rewards.operations import carried_out  # sympy, which most programs never need

    try:
        check_operation(answer)
        try:
            return str(isolated(carried_out, answer, limits=limits))
        except ProcessDied:  # killed from outside, unless it happens again
            return str(isolated(carried_out, answer, limits=limits))
    except TimeoutError:
        return TimeoutError()
    except IsolationError:
        raise
    except Exception as error:
        return Unreadable(f"{type(error).__name__}: {error}")


def gold_problem(gold: str, limits: Limits = Limits()) -> str | None:  # noqa: B008 (it is frozen)
    """Why responses cannot be graded by this gold answer, in words for the user; None if they can.

    For the preparation of data: a gold answer must be read as a whole, have a value, and be one that a response can
    meet without being its copy.
    """
    gold = bare(gold)
    if not gold:
        return "it is empty"
    if is_placeholder(gold):
        return PLACEHOLDER
    if last_boxed(f"\\boxed{{{gold}}}") != gold:
        return "its braces do not match"
    try:
        answer = _read_gold(gold, limits)
    except _GoldError as error:
        return str(error)
    except TimeoutError:
        return f"to carry it out takes longer than {limits.timeout_seconds:g} s"
    if isinstance(answer, types.Words) and len(answer.text.split()) > MAX_WORDS:
        return SENTENCE
    return None


#: What programs write for nothing. `\text{none}` was typeset by someone, and is the answer that there is none.
_MISSING: Final = frozenset(["none", "null", "nan", "na", "tba", "tbd", "todo", "blank", "unk"])
#: What nobody answers, in words; each may begin with "the answer is".
_SAID: Final = re.compile(
    r"(?:the |your )?(?:final )?(?:answer|solution)(?: here)?"
    r"|(?:(?:the )?(?:final )?(?:answer|solution)(?: is| was)? )?"
    r"(?:n[/.]a|not ?(?:found|available|applicable|provided|given|specified|known)|unknown|omitted|missing|placeholder)"
    r"|no (?:final )?answer(?: found| given| provided)?"
    r"|(?:the )?proof\b.*|prove\b.*|(?:hence )?(?:proved|proven)(?: above| below)?|q\.?e\.?d"
    r"|(?:i am |i'm )?not sure|i (?:do not|don't) know|i cannot (?:say|tell)|x{3,}"
    r"|(?:the )?answers? (?:(?:is|are|may|will|can) )?(?:above|below|vary|varies)|varies"
    r"|(?:left )?(?:to the reader|as an exercise)(?: for the reader| to the reader)?"
    r"|(?:see|refer to)(?: the)? (?:solution|proof|explanation|answer|text|figure|diagram|above|below)s?(?: \w+)?"
)
#: Signs that stand for nothing, and lists of nothing.
_SIGNS: Final = re.compile(r"[-–—.…?_*/#\s]+|\\[lc]?dots|\[\]|\{\}|\(\)")
_TYPESET: Final = re.compile(r"\\(?:text\w*|mathrm|mathbf|mbox|emph)\s*\{([^{}]*)\}")
_AROUND: Final = " .,:;!*_#`'\"()[]<>"


def is_placeholder(gold: str) -> bool:
    """Whether a gold answer of mathematics says that there is none, or that it is elsewhere."""
    gold = gold.strip()
    typeset = _TYPESET.fullmatch(gold)
    said = " ".join((typeset[1] if typeset else gold).replace("\\", " ").split()).casefold().strip(_AROUND)
    return bool(_SIGNS.fullmatch(gold) or _SAID.fullmatch(said)) or (typeset is None and said in _MISSING)
