"""What is no gold answer though it can be read, and what is one though it looks alike."""

import pytest

from pacs.rewards import multiple_choice
from pacs.rewards.math import PLACEHOLDER, SENTENCE, gold_problem, is_placeholder

PLACEHOLDERS = [
    "#N/A", "<unk>", "TBA",
    "proof", "Proof.", r"\text{proof}", "The proof is left to the reader", "Proof: see below", "proved",
    "Hence proved", "QED", "Q.E.D.", "notfound", "not found", r"\text{Not Found}", r"Not\ found", "N/A", "n/a",
    "N.A.", "NA", "<NA>", r"\text{N/A}", "not applicable", "Not available", "not provided", "none", "None", "NONE",
    "null", "nan", "NaN", "tbd", "TODO", "unknown", "UNKNOWN", r"\mathrm{unknown}", "omitted", "answer omitted",
    "Proof omitted", "see solution", "See the solution.", "(see solution)", "see below", "refer to the explanation",
    "see figure above", "Answer", "your answer here", "final answer", "the answer is not given",
    "answer not provided", "no answer", "No answer found", "missing", "[blank]", r"$\text{N/A}$", "-", "--", "—", "–",
    "not sure", "I'm not sure", "I don't know", "I cannot say", "Answer below", "answers may vary", "Answers vary.",
    "varies", "left to the reader", "Left as an exercise", "left as an exercise to the reader", "proved above", "xxx",
    ".", "...", "…", "?", "??", "_", "___", "*", "/", "#", r"\ldots", r"\dots", r"\cdots", "[]", "{}", "()",
]  # fmt: skip

ANSWERS = [
    r"\text{none}", r"\text{None}", "none of these", r"\emptyset", r"\{\}", r"\varnothing", "no solution",
    r"\text{No real solution}", "no real roots", "does not exist", "DNE", "undefined", "infinite", r"\infty",
    "cannot be determined", "impossible", "neither", r"\text{neither}", r"\text{empty}", "empty set", "even",
    "parabola", "Monday", r"\text{Evelyn}", "two lines", "yes", "No", "True", "0", "x", "n", "a", "NaCl", "N",
    r"\frac{n}{a}", "n/a^2", "-1", "AB", "nil", "nand", r"\text{not a function}", r"\text{not possible}",
    "xx", "cannot tell", "above", "below", "trivial", "all real numbers except zero",
    r"\text{softball, kickball, picnic}",
]  # fmt: skip


@pytest.mark.parametrize("gold", PLACEHOLDERS)
def test_a_placeholder_is_no_answer(gold: str) -> None:
    assert gold_problem(gold) == PLACEHOLDER


@pytest.mark.parametrize("gold", ANSWERS)
def test_an_answer_in_words_is_one(gold: str) -> None:
    assert not is_placeholder(gold)
    assert gold_problem(gold) in (None, "it is empty")


@pytest.mark.parametrize(
    "gold",
    ["The function is increasing for all x", r"\text{The circle and the line touch in one point}"],
)
def test_nobody_writes_a_sentence_as_the_gold_answer_has_it(gold: str) -> None:
    assert gold_problem(gold) == SENTENCE


@pytest.mark.parametrize(("gold", "is_one"), [("A", True), ("E", True), ("a", False), ("", False), ("AB", False)])
def test_a_choice_is_a_capital_letter(gold: str, is_one: bool) -> None:
    assert (multiple_choice.gold_problem(gold) is None) == is_one
