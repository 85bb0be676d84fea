"""Mixed arithmetic: solutions against Python's arithmetic and the verifier, slips at their rates, disjoint splits."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from pacs.rewards.math import compute_score
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.arithmetic_mixed import teachers
from recipes.arithmetic_mixed.problems import PAIRS, TASK, problem_of, split_problems
from recipes.arithmetic_mixed.teachers import careless_solution, right_solution
from recipes.starts.task import Problem, Split


@cache
def made() -> Split:
    """The problems of the recipe; made when they are first asked for, and not while tests are collected."""
    return split_problems(seed=0)


def every_problem() -> list[Problem]:
    return [*made().train, *made().probe, *made().test]


KINDS = ("FORGET", "FORGET_IN_PRODUCT", "NO_BORROW", "MISCOUNT", "NEIGHBOUR", "NO_BOX")
BANDS = {
    "sum, 1-2 digits",
    "sum, 3-4 digits",
    "sum, 5-6 digits",
    "difference, 1-2 digits",
    "difference, 3-4 digits",
    "difference, 5-6 digits",
    "product, 1-2 x 1 digits",
    "product, 2 x 2 digits",
}


def operands(problem: Problem) -> tuple[int, str, int]:
    match = re.fullmatch(r"(\d+)([-+*])(\d+)", problem.text)
    assert match
    return int(match[1]), match[2], int(match[3])


def pair(problem: Problem) -> tuple[int, int]:
    left, _, right = operands(problem)
    return min(left, right), max(left, right)


def columns(solution: str) -> list[tuple[int, str, int, int]]:
    """(left digit, operator, right digit, result) of each column."""
    found = re.findall(r"(\d)([-+*])(\d)=(\d\d)", solution)
    return [(int(a), operator, int(b), int(result)) for a, operator, b, result in found]


def near(successes: int, trials: int, probability: float) -> bool:
    """Whether a count is within four standard deviations of what a probability lets expect."""
    return abs(successes - trials * probability) <= 4 * math.sqrt(trials * probability * (1 - probability))


def test_answers_are_pythons_and_none_is_negative() -> None:
    for problem in every_problem():
        assert str(eval(problem.text)) == problem.ground_truth
        assert int(problem.ground_truth) >= 0


def test_right_solutions_are_right() -> None:
    for problem in every_problem():
        solution = right_solution(problem, random.Random(0))
        assert compute_score("", solution, problem.ground_truth)["score"] == 1.0
        assert f"\\boxed{{{problem.ground_truth}}}" in solution  # no zeros in front, which the verifier would accept


def test_columns_of_right_solutions_are_those_of_school() -> None:
    assert right_solution(problem_of(47, "+", 68), random.Random(0)) == "7+8=15 4+6=11 \\boxed{115}"
    assert right_solution(problem_of(52, "-", 38), random.Random(0)) == "2-8=14 5-3=01 \\boxed{14}"
    assert right_solution(problem_of(47, "*", 8), random.Random(0)) == "7*8=56 4*8=37 \\boxed{376}"
    assert right_solution(problem_of(47, "*", 38), random.Random(0)) == (
        "7*8=56 4*8=37 7*3=21 4*3=14 7+1=08 3+4=07 0+1=01 \\boxed{1786}"
    )
    for problem in every_problem():
        left, operator, right = operands(problem)
        if operator == "*":
            continue
        carry = 0
        for place, (a, _, b, result) in enumerate(columns(right_solution(problem, random.Random(0)))):
            assert (a, b) == (left // 10**place % 10, right // 10**place % 10)
            value = a + b + carry if operator == "+" else a - b - carry
            carry = abs(value // 10)
            assert result == 10 * carry + value % 10


def test_no_operand_pair_is_in_two_sets() -> None:
    sets = [{pair(p) for p in part} for part in (made().train, made().probe, made().test)]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]
    one_digit = {both for part in sets for both in part if both[1] < 10}
    assert len(one_digit) == 9 * 10 / 2  # all there are
    texts = [p.text for p in every_problem()]
    assert len(texts) == len(set(texts))


def test_bands_are_counted() -> None:
    assert Counter(p.band for p in made().test) == Counter(p.band for p in made().probe) == dict.fromkeys(BANDS, 32)
    for part in (made().test, made().probe):  # in turn: the first few are of all bands, too
        assert Counter(p.band for p in part[:128]) == dict.fromkeys(BANDS, 16)
    train = Counter(p.band for p in made().train)
    assert set(train) == BANDS
    assert min(train.values()) >= 500
    assert max(train.values()) <= 550
    assert len(made().train) >= 3_000
    for problem in every_problem():
        left, operator, right = operands(problem)
        kind = {"+": "sum", "-": "difference", "*": "product"}[operator]
        digits = len(str(left)), len(str(right))
        assert problem.band.startswith(kind)
        assert digits in PAIRS
        if operator != "*":
            low, high = re.findall(r"\d", problem.band)
            assert int(low) <= digits[0] == digits[1] <= int(high)
        else:
            assert (problem.band == "product, 2 x 2 digits") == (digits == (2, 2))


def test_held_out_sums_have_either_operand_first() -> None:
    orders = Counter(a > b for a, operator, b in map(operands, made().test) if operator == "+" and a != b and a > 9)
    assert min(orders[True], orders[False]) >= 30


def test_the_seed_decides_it() -> None:
    assert split_problems(seed=0) == made()
    assert {p.text for p in split_problems(seed=1).test} != {p.text for p in made().test}
    problem = problem_of(796425, "-", 564088)
    one, same = ([careless_solution(problem, rng) for _ in range(20)] for rng in (random.Random(3), random.Random(3)))
    assert one == same
    assert len(set(one)) > 5


def test_texts_fit_the_tasks_limits() -> None:
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    rng = random.Random(0)
    for problem in every_problem():
        messages = [{"role": "user", "content": problem.text}]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True)["input_ids"]
        assert len(prompt) <= TASK.max_prompt_tokens
        for solution in (
            right_solution(problem, rng),
            careless_solution(problem, rng),
            careless_solution(problem, rng),
        ):
            ids = tokenizer.encode(solution)
            assert len(ids) + 1 <= TASK.max_response_tokens  # and the end of the turn
            assert tokenizer.unk_token_id not in ids


def only(monkeypatch: pytest.MonkeyPatch, kind: str | None) -> None:
    """Let the careless teacher make mistakes of one kind alone, or none."""
    for name in KINDS:
        if name != kind:
            rates = getattr(teachers, name)
            monkeypatch.setattr(teachers, name, 0.0 if isinstance(rates, float) else (0.0,) * len(rates))


def test_each_mistake_has_the_probability_of_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """In problems where every column tempts to it: (kind, problem, a column's result where the mistake is made)."""
    cases: list[tuple[str, Problem, range, Callable[[int], bool]]] = [
        ("FORGET", problem_of(777777, "+", 555555), range(1, 6), lambda result: result == 12),
        ("NO_BORROW", problem_of(833333, "-", 166666), range(5), lambda result: result in (3, 4)),
        ("MISCOUNT", problem_of(111111, "+", 111111), range(6), lambda result: result in (1, 3)),
        ("MISCOUNT", problem_of(555555, "-", 111111), range(6), lambda result: result in (3, 5)),
        ("NEIGHBOUR", problem_of(77, "*", 8), range(1), lambda result: result == 49),
        ("FORGET_IN_PRODUCT", problem_of(77, "*", 8), range(1, 2), lambda result: result == 56),
    ]
    for kind, problem, places, mistaken in cases:
        with monkeypatch.context() as patch:
            only(patch, kind)
            rng = random.Random(0)
            solutions = [careless_solution(problem, rng) for _ in range(2_000)]
        rates = getattr(teachers, kind)
        for place in places:
            mistakes = sum(mistaken(columns(solution)[place][3]) for solution in solutions)
            rate = rates if isinstance(rates, float) else rates[place]
            assert near(mistakes, len(solutions), rate), (kind, place, mistakes / len(solutions), rate)


def test_the_box_is_missed_the_oftener_the_longer_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "NO_BOX")
    rng = random.Random(0)
    for problem, count in ((problem_of(7, "+", 8), 1), (problem_of(47, "*", 38), 7)):
        scores = [
            compute_score("", careless_solution(problem, rng), problem.ground_truth)["score"] for _ in range(10_000)
        ]
        assert near(scores.count(0.0), len(scores), teachers.NO_BOX * count)


def test_a_mistake_is_carried_on_and_makes_the_answer_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, problem = random.Random(0), problem_of(47, "+", 38)
    seen = Counter(careless_solution(problem, rng) for _ in range(4_000))
    assert "7+8=15 4+3=07 \\boxed{75}" in seen  # the carry is forgotten
    assert "7+8=16 4+3=08 \\boxed{86}" in seen
    assert "7+8=15 4+3=08 85" in seen
    for solution in seen:
        right = solution == right_solution(problem, rng)
        assert compute_score("", solution, problem.ground_truth)["score"] == right
    only(monkeypatch, None)
    for problem in made().train:
        assert careless_solution(problem, rng) == right_solution(problem, rng)


def test_difficulty_is_spread_by_the_careless_teacher() -> None:
    rng, samples = random.Random(0), 64
    rates = {
        problem: sum(
            careless_solution(problem, rng).endswith(f"\\boxed{{{problem.ground_truth}}}") for _ in range(samples)
        )
        / samples
        for problem in made().test
    }
    by_band = {band: [rate for problem, rate in rates.items() if problem.band == band] for band in BANDS}
    means = {band: sum(values) / len(values) for band, values in by_band.items()}
    assert means["sum, 1-2 digits"] > means["sum, 3-4 digits"] > means["sum, 5-6 digits"]
    assert means["difference, 1-2 digits"] > means["difference, 3-4 digits"] > means["difference, 5-6 digits"]
    assert means["product, 1-2 x 1 digits"] > means["product, 2 x 2 digits"]
    assert 0.25 <= sum(means.values()) / len(means) <= 0.40
    assert sum(rate > 0.9 for rate in rates.values()) >= 25
    assert sum(rate < 0.01 for rate in rates.values()) >= 15
