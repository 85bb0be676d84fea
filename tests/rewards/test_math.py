"""The verifier of mathematical answers."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import math_verify
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.math import MAX_ANSWER_CHARS, _grade_by_math_verify, compute_score, grade


def score(answer: str, gold: str) -> dict[str, Any]:
    return compute_score("test", f"So it is \\boxed{{{answer}}}.", gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("72", "72"),
        ("072", "72"),
        ("+72", "72"),
        ("-72", "-72"),
        ("72.", "72"),
        ("$72$", "72"),
        ("72.0", "72"),
        ("27", "27.0"),
        (".5", "0.50"),
        ("0", "-0"),
        ("1" * 60, "1" * 60),
        ("1/2", "0.5"),
        ("\\dfrac12", "\\frac{1}{2}"),
        ("10000", "10{,}000"),
        ("x=5", "5"),
        ("5", "x = 5"),
        ("(1,2)", "(1, 2)"),
        ("2, 1", "1,2"),
        ("x^2+2x+1", "(x+1)^2"),
        ("\\sqrt{8}", "2\\sqrt{2}"),
        ("\\text{Monday}", "\\text{Monday}"),
    ],
)
def test_equal_answers_are_correct(answer: str, gold: str) -> None:
    assert score(answer, gold) == {"score": 1.0, "predicted": answer, "status": "correct"}


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
        ("print(72)", "72"),
        ("7" * (MAX_ANSWER_CHARS + 1), "72"),
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


def test_a_long_answer_is_reported_in_part() -> None:
    result = score("1+" * MAX_ANSWER_CHARS + "1", "72")
    assert result["status"] == "wrong"
    assert len(result["predicted"]) == MAX_ANSWER_CHARS


def test_a_gold_that_cannot_be_compared_is_an_error_not_a_wrong_answer() -> None:
    assert score("72", "7" * (MAX_ANSWER_CHARS + 1))["status"] == "error"


def test_an_exception_of_math_verify_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(math_verify, "verify", fail)
    assert score("x+1", "1+x") == {"score": 0.0, "predicted": "x+1", "status": "error"}
    monkeypatch.setattr(math_verify, "parse", fail)
    assert score("x+1", "1+x") == {"score": 0.0, "predicted": "x+1", "status": "error"}


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


# No ^, ! or *: an answer like 9^{9^9} takes for ever until answers are graded in processes that can be killed.
ANSWERS = st.text(alphabet="0123456789.,+-/=()[]{}$\\ \n%πx", max_size=20)
PIECES = st.lists(st.one_of(ANSWERS, st.sampled_from(["\\boxed{", "}", "<think>", "</think>", "\\frac", "\\text{"])))


@settings(deadline=None, derandomize=True)
@given(response=PIECES.map("".join), gold=ANSWERS)
def test_never_raises_and_scores_0_or_1(response: str, gold: str) -> None:
    result = compute_score("test", response, gold)
    assert set(result) == {"score", "predicted", "status"}
    assert result["status"] in {"correct", "wrong", "no_answer", "error"}
    assert result["score"] == (1.0 if result["status"] == "correct" else 0.0)


@settings(deadline=None, derandomize=True)
@given(response=st.one_of(st.none(), st.integers(), st.binary(), st.text()), gold=st.none() | st.binary())
def test_other_types_raise_nothing_either(response: Any, gold: Any) -> None:
    assert compute_score("test", response, gold)["score"] == 0.0


NUMBERS = st.from_regex(r"[+-]?[0-9]{1,6}(\.[0-9]{1,8})?", fullmatch=True)


@settings(deadline=None, derandomize=True)
@given(NUMBERS, NUMBERS, st.sampled_from(["as drawn", "zero behind", "zero before"]))
def test_the_fast_path_says_what_math_verify_says(number: str, other: str, how: str) -> None:
    if how == "zero behind":
        other = number + ("0" if "." in number else ".0")
    elif how == "zero before":
        other = "-" * number.startswith("-") + "0" + number.lstrip("+-")
    assert grade(number, other) == _grade_by_math_verify(number, other)
