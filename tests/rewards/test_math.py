"""The verifier of mathematical answers."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.answers.refusals import MAX_CHARS
from pacs.rewards.isolation import Limits, isolated
from pacs.rewards.math import compute_score, gold_problem, grade
from pacs.rewards.verdict import PREDICTED_CHARS, Status
from tests.processes import children_with
from tests.rewards.answers import EQUAL

QUICK = Limits(timeout_seconds=0.5)


def score(answer: str, gold: str) -> dict[str, Any]:
    return compute_score("test", f"So it is \\boxed{{{answer}}}.", gold)


def test_the_verdict_has_the_answer_as_it_is_written() -> None:
    for answer in (answer for answers in EQUAL for answer in answers):
        assert score(answer, answer) == {"score": 1.0, "predicted": answer.strip(), "status": "correct"}
    assert score(" 47+38 ", "85") == {"score": 0.0, "predicted": "47+38", "status": "unevaluated"}
    assert compute_score("test", "\\boxed{47+38}", "85", accept_unevaluated=True)["status"] == "correct"


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("71", "72"),
        ("-72", "72"),
        ("72.1", "72"),
        ("0.5", "0.05"),
        ("1/3", "0.5"),
        ("x+1", "x+2"),
        ("(2,1)", "(1,2)"),
        ("Tuesday", "Monday"),
        ("0.5", "50\\%"),
        ("(1,2]", "[1,2]"),
        ("\\begin{pmatrix}2\\\\1\\end{pmatrix}", "\\begin{pmatrix}1\\\\2\\end{pmatrix}"),
        ("print(72)", "72"),
        ("7" * (MAX_CHARS + 1), "72"),
        ("7" * (MAX_CHARS + 1), "Monday"),
    ],
)
def test_other_answers_are_wrong(answer: str, gold: str) -> None:
    result = score(answer, gold)
    assert (result["score"], result["status"]) == (0.0, "wrong")


@pytest.mark.parametrize(
    "response",
    [
        "",
        "72",
        "The answer is **72**",
        "\\boxed{}",
        "\\boxed{ }",
        "\\boxed{7",
        "\\boxed{{7}",
        "\\boxed{72} or \\boxed{7",
        "<think>\\boxed{72}",
        "<think>\\boxed{72}</think>I do not know",
    ],
)
def test_no_answer(response: str) -> None:
    assert compute_score("test", response, "72") == {"score": 0.0, "predicted": "", "status": "no_answer"}


def test_only_the_last_box_of_the_final_part_counts() -> None:
    right, wrong = "\\boxed{72}", "\\boxed{71}"
    assert compute_score("test", f"{wrong} {right}", "72")["score"] == 1.0
    assert compute_score("test", f"{right} {wrong}", "72")["score"] == 0.0
    assert compute_score("test", f"<think>{wrong}</think>{right}", "72")["score"] == 1.0
    assert compute_score("test", f"<think>{right}</think>{wrong}", "72")["score"] == 0.0


@pytest.mark.parametrize(
    ("response", "predicted"),
    [
        ("The answer is 72.", "72"),
        ("The final answer is: $72$", "$72$"),
        ("ANSWER: 72\nThat is all.", "72"),
        ("**Answer: 72**", "72"),
        ("The answer is **72**, as the **proof** says.", "72"),
        ("First **7**, then **72**.", "72"),
        ("answer = 72", "72"),
        ("Final Answer: The final answer is $72$. I hope it is correct.", "$72$"),
        ("The answer is 7, no: the answer is 72", "72"),
        ("**Answer**: 72", "72"),
        ("<answer> 72 </answer>", "72"),
        ("<answer>7</answer> No, <answer>\n72\n</answer> **it is**", "72"),
        ("[ANSWER]72[/ANSWER] The answer is 7.", "72"),
        ("The answer is 7 more.\n#### 72\n", "72"),
        ("#### Step 1\nIt is **72**", "72"),
    ],
)
def test_an_answer_that_is_not_boxed_counts_only_if_asked_for(response: str, predicted: str) -> None:
    assert compute_score("test", response, "72")["status"] == "no_answer"
    assert compute_score("test", response, "72", unboxed=True) == {
        "score": 1.0,
        "predicted": predicted,
        "status": "correct",
    }


def test_a_box_goes_before_what_is_not_boxed() -> None:
    assert compute_score("test", "\\boxed{71}. The answer is 72.", "72", unboxed=True)["score"] == 0.0
    for other in ("It is 72", "<answer>72", "<answer>72</solution>", "#### 72\nso it is", "##### 72"):
        assert compute_score("test", other, "72", unboxed=True)["status"] == "no_answer"
    assert compute_score("test", "<think>The answer is 72.", "72", unboxed=True)["status"] == "no_answer"


def test_a_long_answer_is_reported_in_part() -> None:
    result = score("1+" * PREDICTED_CHARS + "1", "72")
    assert result["status"] == "wrong"
    assert len(result["predicted"]) == PREDICTED_CHARS


def test_what_is_not_unicode_is_reported_without_it() -> None:
    result = score("7\udcff", "72")
    assert result == {"score": 0.0, "predicted": "7?", "status": "wrong"}


def test_a_gold_that_cannot_be_compared_is_an_error_not_a_wrong_answer() -> None:
    assert score("72", "7" * (MAX_CHARS + 1))["status"] == "error"
    assert score("72", r"\frac{1}{0}")["status"] == "error"
    for gold in ("", r"\text{}", "$$"):
        assert score("x+72", gold)["status"] == "error", gold


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        ("", "empty"),
        ("$$", "empty"),
        ("7" * (MAX_CHARS + 1), "longer"),
        ("9^{9^{9}}", "more than 5,000 digits"),
        ("{{{", "braces"),
        (r"\frac{1}{0}", "division by zero"),
        ("72 73", "not expected"),
        (r"\text{}", "empty"),
        (r"\int_0^1 \frac{\sin(x^x)\ln(1+x)}{1+e^{x}} dx", "takes longer than 0.5 s"),
    ],
)
def test_a_gold_that_nothing_can_be_graded_by(gold: str, problem: str) -> None:
    assert problem in str(gold_problem(gold, QUICK))


def test_a_limit_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        compute_score("test", "\\boxed{72}", "72", timeout_seconds=0)


def test_keywords_as_verl_passes_them_from_threads() -> None:
    """math-verify's own timeouts (signal.alarm) would raise here."""

    def call(i: int) -> float:
        answer, gold = (f"{i}/2", f"\\frac{{{i}}}{{2}}") if i % 2 else (f"{i}", f"{i + 1}")
        result = compute_score(
            data_source="test", solution_str=f"\\boxed{{{answer}}}", ground_truth=gold, extra_info={"index": i}
        )
        return float(result["score"])

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call, range(1, 41))) == [float(i % 2) for i in range(1, 41)]


@pytest.mark.parametrize("gold", [72, 72.0])
def test_a_gold_that_is_a_number(gold: Any) -> None:
    assert score("72", gold)["score"] == 1.0


ANSWERS = st.text(alphabet="0123456789.,+-/=()[]{}$^!*\\ \n%πx", max_size=20)
PIECES = st.lists(st.one_of(ANSWERS, st.sampled_from(["\\boxed{", "}", "<think>", "</think>", "\\frac", "\\text{"])))


@settings(deadline=None, derandomize=True)
@given(response=PIECES.map("".join), gold=ANSWERS)
def test_never_raises_and_scores_0_or_1(response: str, gold: str) -> None:
    result = compute_score("test", response, gold, timeout_seconds=0.5)
    assert set(result) == {"score", "predicted", "status"}
    assert result["status"] in get_args(Status)
    assert result["score"] == (1.0 if result["status"] == "correct" else 0.0)


@settings(deadline=None, derandomize=True)
@given(answer=ANSWERS, gold=ANSWERS)
def test_boxed_junk_never_raises(answer: str, gold: str) -> None:
    assert grade(answer, gold, QUICK) in get_args(Status)


@settings(deadline=None, derandomize=True)
@given(response=st.one_of(st.none(), st.integers(), st.binary(), st.text()), gold=st.none() | st.binary())
def test_other_types_raise_nothing_either(response: Any, gold: Any) -> None:
    assert compute_score("test", response, gold)["score"] == 0.0


CHANGES = st.sampled_from(
    [
        lambda a: f"${a}$",
        lambda a: f" {a} ",
        lambda a: f"{a}.",
        lambda a: f"\\displaystyle {a}",
        lambda a: a.replace("\\frac", "\\dfrac"),
        lambda a: a.replace("(", "\\left(").replace(")", "\\right)"),
        lambda a: a.replace(",", ", "),
        lambda a: a.replace("+", " + "),
        lambda a: f"\\({a}\\)",
    ]
)
VALUES = st.sampled_from(["72", "-3", "0.25", "\\frac{3}{7}", "(1,2)", "x+1", "2\\sqrt{3}", "[0,1)", "Monday"])


@settings(deadline=None, derandomize=True)
@given(answer=VALUES, gold=VALUES, changes=st.lists(CHANGES, max_size=3, unique=True))
def test_a_change_of_format_keeps_the_score(answer: str, gold: str, changes: list[Any]) -> None:
    changed = answer
    for change in sorted(changes, key=lambda change: change("1").startswith(("$", "\\("))):
        changed = change(changed)
    if sum(change("1").startswith(("$", "\\(")) for change in changes) < 2:
        assert grade(changed, gold) == grade(answer, gold)


def test_what_was_too_slow_is_not_tried_again_for_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try would cost the timeout again; but what timed out on a busy machine is not wrong for ever."""
    tries = []

    def counted(*arguments: Any, **keywords: Any) -> Any:
        tries.append(arguments)
        return isolated(*arguments, **keywords)

    monkeypatch.setattr("pacs.rewards.math.isolated", counted)
    slow = r"\int_0^1 \frac{\sin(x^x)\ln(2+x)}{1+e^{x}} dx"
    for gold in ("5", "5", "x"):
        assert grade(slow, gold, QUICK, accept_unevaluated=True) == "timeout"
    assert len(tries) == 1
    monkeypatch.setattr("pacs.rewards.math.TIMEOUT_KEPT_SECONDS", 1e-3)
    assert grade(slow, "5", QUICK, accept_unevaluated=True) == "timeout"
    assert len(tries) == 2


def test_a_process_that_is_killed_from_outside_is_no_verdict() -> None:
    """It is asked again, once; an answer that kills its process each time is one that cannot be carried out."""
    limits = Limits(timeout_seconds=60, workers=1)
    slow = r"\int_0^1 \frac{\sin(x^x)\ln(3+x)}{1+e^{x}} dx + \sum_{k=1}^{4} k"

    def calculators() -> list[psutil.Process]:
        servers = children_with("pacs.rewards.isolation_server pacs.rewards.operations")
        return [process for server in servers for process in server.children()]

    used = {process.pid: process.cpu_times().user for process in calculators()}  # those of other tests are at rest
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(grade, slow, "10", limits, accept_unevaluated=True)
        seen: set[int] = set()
        while len(seen) < 2 and not asked.done():
            for process in calculators():
                if process.pid not in seen and process.cpu_times().user > used.get(process.pid, 0) + 0.3:
                    seen.add(process.pid)
                    process.kill()
            time.sleep(0.05)
        assert asked.result() == "wrong"
    assert len(seen) == 2
