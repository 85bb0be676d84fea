"""The verifier of answers that are right to the letter."""

from typing import Any

import pytest

from pacs.rewards.exact_match import compute_score, gold_problem
from pacs.rewards.extract import MAX_BOX_CHARS


@pytest.mark.parametrize(
    ("answer", "gold", "settings", "status"),
    [
        ("yes", "yes", {}, "correct"),
        (" Yes\n", "yes", {}, "correct"),
        ("New  York", "new york ", {}, "correct"),
        ("STRASSE", "straße", {}, "correct"),
        ("72", 72, {}, "correct"),
        ("Yes", "yes", {"ignore_case": False}, "wrong"),
        (" yes ", "yes", {"ignore_white_space": False}, "correct"),
        ("New  York", "New York", {"ignore_white_space": False}, "wrong"),
        ("72.0", "72", {}, "wrong"),
        ("newyork", "new york", {}, "wrong"),
        ("\\text{yes}", "yes", {}, "wrong"),
        ("", "", {}, "no_answer"),
        (" ", "yes", {}, "no_answer"),
    ],
)
def test_answers(answer: str, gold: Any, settings: dict[str, Any], status: str) -> None:
    result = compute_score("test", f"\\boxed{{no}}, or \\boxed{{{answer}}}.", gold, **settings)
    assert result == {
        "score": 1.0 if status == "correct" else 0.0,
        "predicted": answer.strip(),
        "status": status,
    }


@pytest.mark.parametrize(
    "response", ["", "yes", "<think>\\boxed{yes}", "<think>\\boxed{yes}</think>yes", "\\boxed{yes"]
)
def test_nothing_boxed(response: str) -> None:
    assert compute_score("test", response, "yes")["status"] == "no_answer"


@pytest.mark.parametrize("gold", ["x" * (MAX_BOX_CHARS + 1), "{", "a}b{", "", " "])
def test_a_ground_truth_that_no_box_can_hold_is_an_error(gold: str) -> None:
    assert compute_score("test", f"\\boxed{{{gold}x}}", gold)["status"] in {"error", "no_answer"}
    assert compute_score("test", "\\boxed{yes}", gold)["status"] == "error"
    assert "no box can hold it" in str(gold_problem(gold))


@pytest.mark.parametrize("gold", ["x" * MAX_BOX_CHARS, " yes ", "{a} {b}", "\\{", "\\frac{1}{2}"])
def test_a_ground_truth_that_a_box_can_hold(gold: str) -> None:
    assert gold_problem(gold) is None
    assert compute_score("test", f"\\boxed{{{gold}}}", gold)["status"] == "correct"


def test_what_is_not_boxed_counts_only_if_asked_for() -> None:
    for response in ("<answer> Yes </answer>", "So:\n#### yes", "The answer is yes.", "Answer: yes"):
        assert compute_score("test", response, "yes")["status"] == "no_answer"
        assert compute_score("test", response, "yes", unboxed=True)["status"] == "correct"
        assert compute_score("test", response, "no", unboxed=True)["status"] == "wrong"
    assert compute_score("test", "\\boxed{no} The answer is yes.", "yes", unboxed=True)["status"] == "wrong"
