"""The verifier of answers that are right to the letter."""

from typing import Any

import pytest

from pacs.rewards.exact_match import compute_score


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
