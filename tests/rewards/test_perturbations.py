r"""Every gold answer written otherwise is right, and made wrong is not.

With golds of your own, json or jsonl with "answer":

    PACS_GOLDS=math500.json python -m pytest tests/rewards/test_perturbations.py
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import sympy
from math_verify import parse

from pacs.rewards.math import gold_problem, grade
from tests.rewards.perturbations import GOLDS, made_wrong, rewritten


def golds() -> list[str]:
    """Those of the file that PACS_GOLDS names, or those here."""
    if (file := os.environ.get("PACS_GOLDS")) is None:
        return GOLDS
    text = Path(file).read_text()
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    return sorted({answer for row in rows if gold_problem(answer := str(row["answer"])) is None})


def are_the_same(one: str, other: str) -> bool:
    """Whether sympy, by math-verify's reading, says that two answers have one value: a change that changes nothing."""
    first, second = (parse(f"${text}$", parsing_timeout=None) for text in (one, other))
    if not first or not second:
        return False
    try:
        return first[0] == second[0] or sympy.simplify(first[0] - second[0]) == 0
    except (TypeError, AttributeError, ValueError):
        return False


def test_the_golds_are_read() -> None:
    assert {gold: said for gold in golds() if (said := gold_problem(gold))} == {}


def test_what_is_made_wrong_is_not_right() -> None:
    tried: Counter[str] = Counter()
    accepted = []
    for gold in golds():
        for kind, answer in made_wrong(gold):
            tried[kind] += 1
            if grade(answer, gold) == "correct" and not are_the_same(answer, gold):
                accepted.append((kind, gold, answer))
    print(dict(tried))
    assert not accepted, f"{len(accepted)} of {tried.total()}: {accepted[:40]}"
    if "PACS_GOLDS" not in os.environ:
        assert min(tried[kind] for kind in ("sign", "digit", "bracket", "operator", "variable", "unit", "element")) > 3


def test_what_is_written_otherwise_is_right() -> None:
    tried: Counter[str] = Counter()
    refused = []
    for gold in golds():
        for way, answer in rewritten(gold):
            tried[way] += 1
            if grade(answer, gold) != "correct":
                refused.append((way, gold, answer, grade(answer, gold)))
    print(dict(tried))
    assert not refused, f"{len(refused)} of {tried.total()}: {refused[:40]}"
    if "PACS_GOLDS" not in os.environ:
        assert min(tried[way] for way in ("slash", "zeros", "left", "order", "list", "mirrored", "interval")) > 1


@pytest.mark.parametrize("gold", ["5", r"\frac{1}{2}", "x^2"])
def test_sympy_knows_which_change_changes_nothing(gold: str) -> None:
    assert are_the_same(gold, f" {gold} ")
    assert not are_the_same(gold, f"{gold}+1")
