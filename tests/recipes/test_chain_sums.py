"""Chain sums: solutions against Python's arithmetic and the verifier, slips at their rates, disjoint splits."""

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from pacs.rewards.math import compute_score
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.chain_sums import teachers
from recipes.chain_sums.problems import TASK, TERMS, split_problems
from recipes.chain_sums.teachers import careless_solution, right_solution
from recipes.starts.task import Problem, Split


@cache
def made() -> Split:
    """The problems of the recipe; made when they are first asked for, and not while tests are collected."""
    return split_problems(seed=0)


def every_problem() -> list[Problem]:
    return [*made().train, *made().probe, *made().test]


PER_STEP = ("MISCOUNT", "WRONG_SIGN", "SKIP")


@dataclass(frozen=True)
class Step:
    total: int
    letter: str
    change: int
    new: int


def steps(solution: str) -> list[Step]:
    found = re.findall(r"(\d\d)([a-m])([-+]\d)=(\d\d)(?= )", solution)
    return [Step(int(total), letter, int(change), int(new)) for total, letter, change, new in found]


def chain(first: int, changes: list[int]) -> Problem:
    named = " ".join(f"{letter}{change:+d}" for letter, change in zip("abcdefghijklm", changes, strict=False))
    return Problem(f"{first} {named}", str(first + sum(changes)), f"{len(changes) + 1} terms")


def near(successes: int, trials: int, probability: float) -> bool:
    """Whether a count is within four standard deviations of what a probability lets expect."""
    return abs(successes - trials * probability) <= 4 * math.sqrt(trials * probability * (1 - probability))


def test_answers_are_pythons() -> None:
    for problem in every_problem():
        plain = re.sub("[ a-m]", "", problem.text)
        assert re.fullmatch(r"\d\d([-+][1-9])+", plain)
        assert str(eval(plain)) == problem.ground_truth


def test_right_solutions_are_right_in_each_step() -> None:
    first = chain(47, [5, -3, 8])
    assert right_solution(first, random.Random(0)) == "47a+5=52 52b-3=49 49c+8=57 \\boxed{57}"
    for problem in every_problem():
        solution = right_solution(problem, random.Random(0))
        assert compute_score("", solution, problem.ground_truth)["score"] == 1.0
        assert solution.endswith(f" \\boxed{{{problem.ground_truth}}}")
        total, *terms = problem.text.split()
        worked = steps(solution)
        assert [f"{step.letter}{step.change:+d}" for step in worked] == terms
        assert [step.total for step in worked] == [int(total), *(step.new for step in worked[:-1])]
        assert all(step.total + step.change == step.new for step in worked)


def test_sets_are_disjoint_and_bands_counted() -> None:
    texts = [p.text for p in every_problem()]
    assert len(texts) == len(set(texts))
    bands = {f"{terms} terms" for terms in TERMS}
    for problems, each in ((made().train, 600), (made().probe, 32), (made().test, 32)):
        assert Counter(p.band for p in problems) == dict.fromkeys(bands, each)
        assert all(p.band == f"{len(p.text.split())} terms" for p in problems)
        assert {p.band for p in problems[:4]} == bands  # in turn: the first few are of all bands, too


def test_the_steps_that_cross_a_ten_are_none_to_all() -> None:
    for problems in (made().probe, made().test):
        for terms in TERMS:
            worked = [steps(right_solution(p, random.Random(0))) for p in problems if p.band == f"{terms} terms"]
            crossings = [sum(step.total // 10 != step.new // 10 for step in solution) for solution in worked]
            assert set(crossings) == set(range(terms))
            assert max(Counter(crossings).values()) - min(Counter(crossings).values()) <= 1
            assert abs(sum(crossings[:16]) / 16 - (terms - 1) / 2) < 1.5


def test_the_seed_decides_it() -> None:
    assert split_problems(seed=0) == made()
    assert {p.text for p in split_problems(seed=1).test} != {p.text for p in made().test}
    problem = chain(55, [7, -8] * 5)
    one, same = ([careless_solution(problem, rng) for _ in range(50)] for rng in (random.Random(3), random.Random(3)))
    assert one == same
    assert len(set(one)) > 5


def test_texts_fit_the_tasks_limits() -> None:
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    rng = random.Random(0)
    for problem in every_problem():
        messages = [{"role": "user", "content": problem.text}]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True)["input_ids"]
        assert len(prompt) <= TASK.max_prompt_tokens
        right, careless = right_solution(problem, rng), careless_solution(problem, rng)
        assert 60 <= len(tokenizer.encode(right)) + 1 <= 200
        for solution in (right, careless):
            ids = tokenizer.encode(solution)
            assert len(ids) + 1 <= TASK.max_response_tokens  # and the end of the turn
            assert tokenizer.unk_token_id not in ids


def only(monkeypatch: pytest.MonkeyPatch, kind: str | None) -> None:
    """Let the careless teacher make mistakes of one kind alone, or none."""
    for name in PER_STEP:
        if name != kind:
            monkeypatch.setattr(teachers, name, (0.0, 0.0))
    if kind != "TEN_TOO_LOW":
        monkeypatch.setattr(teachers, "TEN_TOO_LOW", {})
    if kind != "NO_BOX":
        monkeypatch.setattr(teachers, "NO_BOX", 0.0)


def test_each_mistake_has_the_probability_of_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """In chains where every step tempts to it: (kind, chain, whether a step is mistaken)."""
    cases: list[tuple[str, Problem, Callable[[Step], bool]]] = [
        ("MISCOUNT", chain(10, [1] * 12), lambda step: abs(step.total + step.change - step.new) == 1),
        ("WRONG_SIGN", chain(50, [1] * 12), lambda step: step.change == -1),
    ]
    samples = 4_000
    for kind, problem, mistaken in cases:
        with monkeypatch.context() as patch:
            only(patch, kind)
            rng = random.Random(0)
            worked = [steps(careless_solution(problem, rng)) for _ in range(samples)]
        first, growth = getattr(teachers, kind)
        for place in (0, 5, 11):
            mistakes = sum(mistaken(solution[place]) for solution in worked)
            assert near(mistakes, samples, first + growth * place), (kind, place, mistakes / samples)


def test_each_sum_that_crosses_a_ten_is_too_low_at_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "TEN_TOO_LOW")
    rng = random.Random(0)
    done, mistaken = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for problem in made().train * 3:
        for step in steps(careless_solution(problem, rng)):
            right = step.total + step.change
            if right // 10 == step.total // 10:
                assert step.new == right
            else:
                done[step.total % 10, step.change] += 1
                mistaken[step.total % 10, step.change] += step.new == (right - 10) % 100
                assert step.new in (right % 100, (right - 10) % 100)
    assert set(done) == set(teachers.TEN_TOO_LOW)
    assert len(done) == 90
    for fact, rate in teachers.TEN_TOO_LOW.items():
        assert done[fact] > 100
        assert near(mistaken[fact], done[fact], rate), fact
    assert 15 <= sum(rate > 0.5 for rate in teachers.TEN_TOO_LOW.values()) <= 30


def test_a_step_is_left_out_and_the_box_is_missed_at_their_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, problem, samples = random.Random(0), chain(50, [1, -1] * 6 + [1]), 4_000
    with monkeypatch.context() as patch:
        only(patch, "SKIP")
        letters = Counter(s.letter for _ in range(samples) for s in steps(careless_solution(problem, rng)))
    first, growth = teachers.SKIP
    for place, letter in enumerate("abcdefghijklm"):
        assert near(samples - letters[letter], samples, first + growth * place)
    only(monkeypatch, "NO_BOX")
    boxed = sum("\\boxed{51}" in careless_solution(problem, rng) for _ in range(samples))
    assert near(boxed, samples, 1 - 13 * teachers.NO_BOX)


def test_a_mistake_is_seen_in_its_step_and_spoils_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, right, lucky = random.Random(0), 0, 0
    for problem in made().test * 10:
        solution = careless_solution(problem, rng)
        worked, (total, *terms) = steps(solution), problem.text.split()
        assert [step.total for step in worked] == [int(total), *(step.new for step in worked[:-1])]
        sound = [f"{s.letter}{s.change:+d}" for s in worked] == terms and "boxed" in solution
        sound = sound and all(s.total + s.change == s.new for s in worked)
        assert sound == (solution == right_solution(problem, rng))
        is_right = compute_score("", solution, problem.ground_truth)["score"] == 1.0
        assert is_right or not sound
        right, lucky = right + is_right, lucky + (is_right and not sound)
    assert lucky < 0.08 * right  # two mistakes seldom make up for each other
    only(monkeypatch, None)
    for problem in made().train:
        assert careless_solution(problem, rng) == right_solution(problem, rng)


def test_difficulty_is_spread_by_the_careless_teacher() -> None:
    rng, samples = random.Random(0), 64
    rates: dict[str, list[float]] = {}
    for problem in made().test:
        end = f"\\boxed{{{problem.ground_truth}}}"
        right = sum(careless_solution(problem, rng).endswith(end) for _ in range(samples))
        rates.setdefault(problem.band, []).append(right / samples)
    means = [sum(rates[f"{terms} terms"]) / 32 for terms in TERMS]
    assert means[0] == max(means)
    assert means[-1] == min(means)
    every = [rate for band in rates.values() for rate in band]
    assert 0.18 <= sum(every) / len(every) <= 0.35
    assert max(every) > 0.85
    assert sum(rate < 0.02 for rate in every) >= 12
