"""The verifier of multiple-choice answers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.multiple_choice import compute_score

CHOICES = ["5 m/s", "$\\frac{1}{2}$", "Carbon dioxide", "a"]


def score(response: Any, gold: Any = "C", **keywords: Any) -> dict[str, Any]:
    result = compute_score("gpqa", response, gold, **keywords)
    assert result["score"] == (1.0 if result["status"] == "correct" else 0.0)
    return result


@pytest.mark.parametrize(
    "answer",
    [
        "C",
        " C ",
        "(C)",
        "C)",
        "C.",
        "\\text{C}",
        "\\text{(C)}",
        "\\textbf{C}",
        "\\mathsf{C}",
        "\\mathrm {C}",
        "$C$",
        "**C**",
        "\\mathbf{C}.",
    ],
)
@pytest.mark.parametrize("extra_info", [None, {}, {"choices": None}, {"choices": CHOICES}])
def test_a_boxed_letter(answer: str, extra_info: dict[str, Any] | None) -> None:
    assert score(f"It is \\boxed{{{answer}}}.", extra_info=extra_info) == {
        "score": 1.0,
        "predicted": "C",
        "status": "correct",
    }
    assert score(f"It is \\boxed{{{answer}}}.", "B", extra_info=extra_info)["status"] == "wrong"


@pytest.mark.parametrize(
    "line",
    [
        "Answer: C",
        "answer:C",
        "ANSWER : C.",
        "**Answer: C**",
        "**Answer:** C",
        "*Answer*: (C)",
        "The final answer: $C$",
        "Answer: \\(C\\)",
        "Answer: C) Carbon dioxide",
        "Answer: C\r",
        "Answer: A\nNo. Answer: C, since it burns.",
        "Answer: C\nAnswer: A carbon atom\nAnswer: Boron\nAnswer: b",  # the last lines name no letter
    ],
)
def test_an_answer_line(line: str) -> None:
    assert score(f"Think.\n{line}\n")["status"] == "correct"
    assert score(f"Think.\n{line}\n", "A")["status"] == "wrong"


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ("\\boxed{A} \\boxed{C}", "correct"),
        ("\\boxed{C} \\boxed{A}", "wrong"),
        ("\\boxed{A}\nAnswer: C", "wrong"),  # a box goes before a line
        ("<think>\\boxed{A}</think>\\boxed{C}", "correct"),
        ("<think>Answer: C</think>Answer: A", "wrong"),
        ("<think>\\boxed{C}</think>I do not know.", "no_answer"),
        ("<think>\\boxed{C}", "no_answer"),
        ("\\boxed{E}", "wrong"),
        ("\\boxed{c}", "wrong"),
        ("\\boxed{A, C}", "wrong"),
        ("\\boxed{AC}", "wrong"),
        ("\\boxed{Carbon dioxide}", "wrong"),
        ("\\boxed{C) Carbon dioxide}", "wrong"),
        ("\\boxed{}", "no_answer"),
        ("\\boxed{C", "no_answer"),
        ("\\boxed{A} \\boxed{C", "no_answer"),
        ("C", "no_answer"),
        ("The answer is C", "no_answer"),
        ("Answer:\nC", "no_answer"),
        ("Answers: C", "no_answer"),
        ("Answer: C, D", "wrong"),
        ("Answer: C, A or B", "wrong"),
        ("Answer: (C) or (D)", "wrong"),
        ("Answer: C or D, I think", "wrong"),
        ("Answer: C, or maybe D", "wrong"),
        ("Answer: C (or possibly even D)", "wrong"),
        ("Answer: C, perhaps option D", "wrong"),
        ("Answer: C\nAnswer: C or D", "wrong"),
        ("Answer: C/D", "wrong"),
        ("Answer: C & D", "wrong"),
        ("Answer: C and (D).", "wrong"),
        ("Answer: (C) (D)", "wrong"),
        ("Answer: C; D", "wrong"),
        ("Answer: $C$, or $D$", "wrong"),
        ("**Answer:** \\(C\\) or \\(D\\)", "wrong"),
        ("Answer: D, or rather: C", "wrong"),
        ("Answer: C or D\nAnswer: C", "correct"),
        ("Answer: C, I think", "correct"),
        ("Answer: C) Boron", "correct"),
        ("Answer: C, not D", "correct"),
        ("Answer: C, Boron", "correct"),
        ("Answer: C.\nD is wrong", "correct"),
        ("\\boxed{C or D}", "wrong"),
        ("\\boxed{\\(C\\)}", "correct"),
        ("\\boxed{\\text{Choice C}}", "correct"),
        ("\\boxed{Option: (C)}", "correct"),
        ("\\boxed{\\textbf{(C)}\\ }", "correct"),
        ("\\boxed{C" + " " * 999 + "or D}", "wrong"),
        ("\\boxed{C" + " " * 998 + ".}", "correct"),
        (None, "no_answer"),
        ("", "no_answer"),
    ],
)
def test_which_answer_counts(response: Any, status: str) -> None:
    assert score(response)["status"] == status


@pytest.mark.parametrize(
    ("answer", "gold", "status"),
    [
        ("Carbon dioxide", "C", "correct"),
        ("\\text{carbon  dioxide.}", "C", "correct"),
        ("C) Carbon dioxide", "C", "correct"),
        ("(C): carbon dioxide", "C", "correct"),
        ("A) Carbon dioxide", "C", "wrong"),  # the letter and the text do not agree
        ("A) Carbon dioxide", "A", "wrong"),
        ("Carbon", "C", "wrong"),
        ("\\frac{1}{2}", "B", "correct"),
        ("(A)\\ 5\\text{ m/s}", "A", "correct"),
        ("\\textbf{(A)}\\ 5\\text{ m/s}", "A", "correct"),
        ("\\text{Choice A: }5~m/s", "A", "correct"),
        ("\\textbf{(A)}\\ 6\\text{ m/s}", "A", "wrong"),
        ("\\(5\\) m/s", "A", "correct"),
        ("a", "D", "correct"),  # a choice's text
        ("A", "D", "wrong"),  # a letter is a letter
        ("A", "A", "correct"),
    ],
)
def test_a_boxed_text_counts_where_the_choices_are_known(answer: str, gold: str, status: str) -> None:
    assert score(f"\\boxed{{{answer}}}", gold, extra_info={"choices": CHOICES})["status"] == status


@pytest.mark.parametrize(
    ("answer", "gold", "status"),
    [
        ("5 mJ", "A", "correct"),
        ("5 MJ", "A", "wrong"),  # a billion times as much
        ("5 MJ", "B", "correct"),
        ("A) 5 mJ", "A", "correct"),
        ("A) 5 MJ", "A", "wrong"),
        ("(A) 5 Mj", "A", "correct"),  # neither choice has it so, and the letter says which
        ("5 mj", "A", "wrong"),  # it may be either
        ("C1CCCCC1", "C", "wrong"),  # cyclohexane is no benzene
        ("C1CCCCC1", "D", "correct"),
        ("twice", "E", "correct"),
        ("twice", "F", "correct"),  # a choice that is there twice
        ("Twice", "G", "wrong"),
    ],
)
def test_choices_that_differ_in_case_alone_are_told_apart(answer: str, gold: str, status: str) -> None:
    choices = ["5 mJ", "5 MJ", "c1ccccc1", "C1CCCCC1", "twice", "twice", "once"]
    assert score(f"\\boxed{{{answer}}}", gold, extra_info={"choices": choices})["status"] == status


def test_the_letters() -> None:
    assert score("\\boxed{F}", "F", letters="ABCDEF")["status"] == "correct"
    assert score("\\boxed{F}", "F", extra_info={"choices": ["x"] * 6})["status"] == "correct"
    for gold in ("F", "", "c", "AB", "(C)", "5", None):
        assert score("x", gold, extra_info={"choices": CHOICES})["status"] == "error"
        assert score("\\boxed{F}", gold)["status"] == "error"
    assert score("\\boxed{D}", "D", extra_info={"choices": ["x"] * 3})["status"] == "error"


PIECES = st.sampled_from(
    ["\\boxed{", "}", "\\text{", "Answer:", " ", "\n", "A", "C", "c", "(", ")", "*", "$", "5 m/s", "</think>"]
)


@settings(deadline=None, derandomize=True)
@given(st.lists(PIECES).map("".join) | st.text(), st.sampled_from([None, CHOICES]))
def test_never_raises_and_never_accepts_what_does_not_name_it(response: str, choices: list[str] | None) -> None:
    result = score(response, extra_info={"choices": choices})
    assert result["status"] in {"correct", "wrong", "no_answer"}
    if result["status"] == "correct":
        assert "C" in response


def test_long_and_hostile_texts_are_read_in_linear_time() -> None:
    score("Answer: C" + "*, " * 200_000)
    for part in (
        "answer",
        "Answer: ",
        "Answer:*",
        "Answer: C, ",
        "Answer: C or ",
        "Answer: C*",
        "\\ ",
        "Choice ",
        "\\text{",
        "\\boxed{",
        "C)",
        " ",
        "(",
    ):
        score(part * 200_000)
        score(f"\\boxed{{{part * 200_000}}}", extra_info={"choices": CHOICES})


def test_what_is_neither_boxed_nor_a_line_counts_only_if_asked_for() -> None:
    for response in ("<answer>C</answer>", "So:\n#### (C)", "The answer is C.", "It is **C**"):
        assert compute_score("test", response, "C")["status"] == "no_answer"
        assert compute_score("test", response, "C", unboxed=True)["status"] == "correct"
    for response in (
        "<answer>A or C</answer>",
        "The answer is **B**",
        "Answer: B. The answer is C",
        "\\boxed{B} **C**",
    ):
        assert compute_score("test", response, "C", unboxed=True)["status"] == "wrong"
