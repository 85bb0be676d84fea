"""The verifier of countdown: against every expression of a few numbers, and against what only looks right."""

import json
import time
from collections import Counter
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.countdown import canonical, compute_score, gold_problem
from tests.rewards.test_expressions import expressions_of, python_value

GOLD = '{"numbers": [3, 7, 25, 50], "target": 82}'


def status(answer: str, gold: str = GOLD, **settings: Any) -> Any:
    return compute_score("test", f"so \\boxed{{1+1}}, or \\boxed{{{answer}}}.", gold, **settings)["status"]


def problem(numbers: list[int], target: int) -> str:
    return json.dumps({"numbers": numbers, "target": target})


@pytest.mark.parametrize("numbers", [[2, 3, 4], [5, 1, 5], [4, 4], [9]])
@pytest.mark.parametrize("use_all", [False, True])
def test_all_expressions_of_a_few_numbers(numbers: list[int], use_all: bool) -> None:
    """Also of others than those given, and of too many; with their own value for the target, and with another one."""
    seen = Counter[str]()
    for used in ([2, 3, 4], [1, 5, 5], [2, 2], [4, 4], [4, 4, 4], [9], [1, 5]):
        allowed = Counter(used) == Counter(numbers) if use_all else Counter(used) <= Counter(numbers)
        for text in dict.fromkeys(expressions_of(tuple(used))):
            found = python_value(text)
            for target in {6, int(found or 0)}:
                said = status(text, problem(numbers, target), use_all=use_all)
                assert said == ("correct" if allowed and found == target else "wrong"), (text, numbers, target)
                seen[said] += 1
    assert seen["correct"] >= 1
    assert seen["wrong"] > 200


@pytest.mark.parametrize(
    "answer",
    [
        "50+25+7", " 7 + 25+50 ", "(50+25)+7", "50+25+7=82", "50 + 25 + 7 = 82", "\\left(50+25\\right)+7", "3×25+7",
        "3\\times25+7", "25\\cdot 3 + 7", "7-(-25*3)", "-(-25*3-7)", "(((7)))+25*3",
    ],
)  # fmt: skip
def test_right_answers(answer: str) -> None:
    assert status(answer) == "correct"


@pytest.mark.parametrize(
    "answer",
    [
        "82", "80+2", "41*2", "50+25+7+0", "50+25+7=83", "50+25+7=82=82", "82=50+25+7", "50+25+7=", "=82",
        "50+25+7=80+2", "50+25+7=82.0", "50+25=82", "7=82", "50*25*7=82",
        "50+25+7=082", "25+25+25+7", "7+75", "3 7+25+50-3 0", "50+25+7, 82", "50+25+7 or 3*25+7",
        "50+25+7\n3*25+7", "\\text{50+25+7}", "５０+25+7", "50+2 5+7", "050+25+7", "5_0+25+7",
        "50+25+7/1", "7+25*3**1", "7+25*3^1", "7+25(3)", "7+3/(50/(25-25))", "7+3/(4/(5-5))", "50+25+7+(3-3)", "fifty",
        "50+25+7#", "True*82", "50.0+25+7", "5e1+25+7", "(50+25+7", "50+25+7)", "25*3.28", "+50+25+7", "50+25--7",
        "{50+25+7}", "[50+25]+7", "50+25+7\\\\", "81+1", "50+25+7%100",
    ],
)  # fmt: skip
def test_what_looks_right_is_wrong(answer: str) -> None:
    assert status(answer) == "wrong"


def test_a_division_by_0_is_wrong_wherever_it_stands() -> None:
    assert status("7+3/(4/(5-5))", problem([7, 3, 4, 5, 5], 7)) == "wrong"
    assert status("7+3*(5-5)/4", problem([7, 3, 4, 5, 5], 7)) == "correct"
    assert status("0/0", problem([0, 0], 0)) == "wrong"


def test_a_minus_in_front_makes_no_positive_target_reachable() -> None:
    """For the claim of docs/rewards.md: by all expressions of three numbers, with a minus where one may stand."""
    reachable = {python_value(text) for text in expressions_of((2, 3, 7))}
    for a, b, c in permutations((2, 3, 7)):
        shapes = (f"{a}+{b}+{c}", f"({a}+{b})+{c}", f"{a}+({b}+{c})")
        for shape, *signs in product(shapes, "+-*/", "+-*/"):
            plain = signs[0].join(signs[1].join(shape.rsplit("+", 1)).split("+", 1))
            for text in ("-" + plain, plain.replace("(", "(-"), "-" + plain.replace("(", "(-")):
                found = python_value(text)
                assert found is None or found <= 0 or found in reachable, text


def test_each_number_is_used_as_often_as_it_is_given() -> None:
    gold = problem([4, 4, 2], 16)
    assert status("4*4", gold) == "correct"
    assert status("4*2*2", gold) == "wrong"
    assert status("4*4", gold, use_all=True) == "wrong"
    assert status("4*(2+4-2)", gold) == "wrong"
    assert status("4+4*2", problem([4, 4, 2], 12), use_all=True) == "correct"
    assert status("42-1", problem([4, 2, 1], 41)) == "wrong"


def test_fractions_on_the_way_are_exact() -> None:
    assert status("8/(3-8/3)", problem([8, 3, 8, 3], 24), use_all=True) == "correct"
    assert status("\\frac{8}{3-\\frac{8}{3}}", problem([8, 3, 8, 3], 24)) == "correct"
    assert status("1/3*999999999", problem([1, 3, 999999999], 333333333)) == "correct"
    assert status("1/3*999999998", problem([1, 3, 999999998], 333333333)) == "wrong"
    assert status("3-10", problem([3, 10], -7)) == "correct"
    assert status("3-10=-7", problem([3, 10], -7)) == "correct"


@pytest.mark.parametrize(
    "response", ["", "50+25+7", "<think>\\boxed{50+25+7}", "\\boxed{}", "\\boxed{ }", "\\boxed{50+25+7", "\\boxed"]
)
def test_nothing_boxed(response: str) -> None:
    assert compute_score("test", response, GOLD)["status"] == "no_answer"


def test_the_last_box_counts() -> None:
    right, wrong = "\\boxed{50+25+7}", "\\boxed{50+25}"
    assert compute_score("test", wrong + right, GOLD) == {"score": 1.0, "predicted": "50+25+7", "status": "correct"}
    assert compute_score("test", right + wrong, GOLD) == {"score": 0.0, "predicted": "50+25", "status": "wrong"}
    assert compute_score("test", f"<think>{right}</think>{wrong}", GOLD)["status"] == "wrong"


@pytest.mark.parametrize(
    "gold",
    [
        "", "82", "[]", "{}", "null", '{"numbers": [], "target": 1}', '{"numbers": [1]}', '{"target": 1}',
        '{"numbers": [1, "2"], "target": 1}', '{"numbers": [1.0], "target": 1}', '{"numbers": [true], "target": 1}',
        '{"numbers": [1], "target": "1"}', '{"numbers": [1], "target": 1.5}', '{"numbers": [-1, 2], "target": 1}',
        '{"numbers": 12, "target": 1}', '{"numbers": [1000000000], "target": 1}', "{'numbers': [1], 'target': 1}",
        '{"numbers": [1], "target": 1', '{"numbers": [1], "target": -1000000000}', "[" * 10**5, "9" * 10**4,
        '{"numbers": [NaN], "target": 1}', '{"numbers": [[1]], "target": 1}',
    ],
)  # fmt: skip
def test_a_ground_truth_that_cannot_be_read_is_an_error(gold: str) -> None:
    assert status("1+1", gold) == "error"
    assert compute_score("test", "nothing", gold)["status"] == "no_answer"
    assert "the ground truth is" in str(gold_problem(gold))


@pytest.mark.parametrize("gold", [GOLD, problem([0], 0), problem([999999999], -999999999), problem([1] * 50, 7)])
def test_a_ground_truth_that_can_be_read(gold: str) -> None:
    assert gold_problem(gold) is None


def test_canonical_forms_count_right_answers() -> None:
    right = ["50+25+7", "7+(25+50)", "(7 + 25)+50 = 82", "25\\times3+7", "7+3*25", "7-(-25)*3"]
    assert [status(answer) for answer in right] == ["correct"] * 6
    assert [canonical(answer) for answer in right] == ["7+25+50"] * 3 + ["7+3*25"] * 2 + ["7-3*(-25)"]
    for answer in ("", "7+", "=82", "x", "1+1=", "1" + "+1" * 1000):
        with pytest.raises(ValueError, match=r"in place of|is missing|too early|no number|more than"):
            canonical(answer)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.one_of(st.text(max_size=300), st.text("0123572+-*/(){}= \\", max_size=40)), st.text(max_size=40))
def test_nothing_raises(answer: str, gold: str) -> None:
    for text in (answer, f"\\boxed{{{answer}}}"):
        assert compute_score("test", text, GOLD)["status"] in {"correct", "wrong", "no_answer"}
        assert compute_score("test", text, gold)["status"] in {"error", "no_answer"}


@pytest.mark.parametrize("part", ["(", "-(", "1+", "1=", "= ", "9", "\\frac{1}{", "{", "\\{", "\\boxed{", " ", "\\ "])
def test_hostile_answers_take_no_time(part: str) -> None:
    for times in (3, 100, 250, 3000, 10**5):
        started = time.perf_counter()
        assert status(part * times) in {"wrong", "no_answer"}
        assert time.perf_counter() - started < 1


def test_what_is_not_boxed_counts_only_if_asked_for() -> None:
    for response in ("<answer> 50+25+7 </answer>", "So:\n#### 50+25+7", "The answer is 50+25+7."):
        assert compute_score("test", response, GOLD)["status"] == "no_answer"
        assert compute_score("test", response, GOLD, unboxed=True)["status"] == "correct"
    assert compute_score("test", "<answer>82</answer>", GOLD, unboxed=True)["status"] == "wrong"
