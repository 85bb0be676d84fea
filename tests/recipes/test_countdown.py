"""Countdown: its solutions against a brute force of another kind, its problems and bands, what the teachers write."""

import ast
import contextlib
import json
import random
import re
from collections import Counter
from functools import cache
from itertools import permutations, product
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pacs.rewards.countdown import canonical, compute_score
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.countdown.problems import (
    BANDS,
    HELD_OUT_EACH,
    NUMBERS,
    TARGETS,
    TASK,
    careless_solution,
    right_solution,
    split_problems,
    written,
)
from recipes.countdown.solutions import Solution, solutions
from recipes.laboratory.evaluation import evaluate
from recipes.starts.make import make
from recipes.starts.read import read_problems
from recipes.starts.task import Problem, Split
from tests.rewards.test_expressions import by_python


@cache
def made() -> Split:
    """The problems of the recipe; made when they are first asked for, and not while tests are collected."""
    return split_problems(seed=0)


def sets() -> tuple[list[Problem], ...]:
    return made().train, made().probe, made().test


def solutions_of(problem: Problem) -> list[Solution]:
    """All of the problem's solutions."""
    truth = json.loads(problem.ground_truth)
    return solutions(tuple(sorted(truth["numbers"])))[truth["target"]]


def by_brute_force(numbers: tuple[int, ...]) -> dict[int, set[str]]:
    """Target -> canonical forms, by all orders, operations and brackets, of the game's solutions."""
    found: dict[int, set[str]] = {}
    for size in range(2, len(numbers) + 1):
        for order in set(permutations(numbers, size)):
            for signs in product("+-*/", repeat=size - 1):
                for text in trees([str(number) for number in order], list(signs)):
                    with contextlib.suppress(ZeroDivisionError):
                        operations = [by_python(n) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp)]
                        if all(result.denominator == 1 and result > 0 for result in operations):
                            found.setdefault(int(operations[0]), set()).add(canonical(text))
    return found


def trees(leaves: list[str], signs: list[str]) -> list[str]:
    """All ways to put a bracket around each operation."""
    if not signs:
        return leaves
    return [
        f"({left}{sign}{right})"
        for i, sign in enumerate(signs)
        for left in trees(leaves[: i + 1], signs[:i])
        for right in trees(leaves[i + 1 :], signs[i + 1 :])
    ]


@pytest.mark.parametrize("numbers", [(2, 3), (3, 8, 12), (2, 2, 4), (1, 1, 1), (1, 5, 5)])
def test_solutions_are_those_of_a_brute_force(numbers: tuple[int, ...]) -> None:
    ours = {target: {canonical(s.text) for s in found} for target, found in solutions(numbers).items()}
    assert ours == by_brute_force(numbers)
    assert all(len(found) == len(ours[target]) for target, found in solutions(numbers).items())


@pytest.mark.long
def test_solutions_of_four_numbers_are_those_of_a_brute_force() -> None:
    numbers = (2, 4, 6, 7)
    ours = {target: {canonical(s.text) for s in found} for target, found in solutions(numbers).items()}
    assert ours == by_brute_force(numbers)


def test_no_choice_of_numbers_is_in_two_sets() -> None:
    chosen = [{tuple(sorted(json.loads(p.ground_truth)["numbers"])) for p in problems} for problems in sets()]
    assert len(chosen[0] | chosen[1] | chosen[2]) == sum(map(len, chosen))
    assert [len(problems) for problems in (made().probe, made().test)] == [128, 128]
    assert len(made().train) >= 2000
    for problems in sets():
        assert len({problem.text for problem in problems}) == len(problems)
    for problems in (made().probe, made().test):
        assert Counter(p.band for p in problems) == dict.fromkeys(BANDS, HELD_OUT_EACH)


def test_the_seed_decides_it() -> None:
    assert split_problems(seed=0) == made()
    assert {p.text for p in split_problems(seed=1).test} != {p.text for p in made().test}


def test_problems_have_the_solutions_that_their_band_says() -> None:
    for problem in made().train + made().probe + made().test:
        shown, target = problem.text.split("=")
        numbers = [int(number) for number in shown.split(" ")]
        assert json.loads(problem.ground_truth) == {"numbers": numbers, "target": int(target)}
        assert set(numbers) <= set(NUMBERS)
        assert int(target) in TARGETS
        assert int(target) not in numbers
        found = len(solutions_of(problem))
        length, low, high = {
            "3 numbers, 2 or more solutions": (3, 2, 1000),
            "4 numbers, 2 or 3 solutions": (4, 2, 3),
            "4 numbers, 4 to 7 solutions": (4, 4, 7),
            "4 numbers, 8 or more solutions": (4, 8, 1000),
        }[problem.band]
        assert len(numbers) == length
        assert low <= found <= high


def check_written(text: str, problem: Problem) -> int:
    """What a response's chain comes to: each operation is right and uses what is left, and the box says the same."""
    left = [int(number) for number in json.loads(problem.ground_truth)["numbers"]]
    chain, box = text.split(" ")
    total = re.match(r"\d+", chain)[0]  # type: ignore[index]
    left.remove(int(total))
    operations = re.findall(r"([-+*/])(\d+)=(\d+)", chain)
    assert chain == total + "".join(f"{sign}{number}={result}" for sign, number, result in operations)
    for sign, number, result in operations:
        left.remove(int(number))
        assert eval(f"{total}{sign}{number}") == int(result)
        total = result
    assert len(operations) in (1, 2, 3)
    expression = re.fullmatch(r"\\boxed\{(.+)\}", box)[1]  # type: ignore[index]
    assert re.findall(r"\d+", expression) == re.findall(r"(?<![=\d])\d+", chain)
    assert by_python(ast.parse(expression, mode="eval").body) == int(total)
    return int(total)


def test_teachers_write_right_calculations_that_fit_the_tasks_limits() -> None:
    rng, tokenizer, reached = random.Random(0), build_tokenizer(256), 0
    for problem in made().train[:500] + made().test:
        target = int(problem.text.split("=")[1])
        prompt = tokenizer.apply_chat_template([{"role": "user", "content": problem.text}], add_generation_prompt=True)
        assert len(prompt["input_ids"]) <= TASK.max_prompt_tokens
        right, other = right_solution(problem, rng), careless_solution(problem, rng)
        assert check_written(right, problem) == target
        for text in (right, other):
            ids = tokenizer.encode(text)
            assert tokenizer.unk_token_id not in ids
            assert len(ids) + 1 <= TASK.max_response_tokens
            came_to = check_written(text, problem)
            said = compute_score("", text, problem.ground_truth)["status"]
            assert said == ("correct" if came_to == target else "wrong")
        reached += check_written(other, problem) == target
    # Two in five remember the target, and a few of the others come to it.
    assert 0.35 < reached / 628 < 0.55


def test_every_chain_below_100_is_drawn_alike() -> None:
    rng = random.Random(0)
    for problem in made().test[:20]:
        chains = [solution for solution in solutions_of(problem) if solution.chain]
        known = {written(solution) for solution in chains if not re.search(r"=\d{3}", solution.chain or "")}
        drawn = Counter(right_solution(problem, rng) for _ in range(200 * len(known)))
        assert drawn.keys() == known
        assert min(drawn.values()) > 130


@pytest.mark.parametrize("numbers", [(2, 3, 7), (2, 2, 4), (2, 4, 6, 7)])
def test_what_can_be_a_chain_is_one(numbers: tuple[int, ...]) -> None:
    """Against all that is calculated from left to right."""
    expected = set()
    for size in range(2, len(numbers) + 1):
        for first, *others in set(permutations(numbers, size)):
            for signs in product("+-*/", repeat=size - 1):
                text, results = str(first), []
                for sign, number in zip(signs, others, strict=True):
                    text = f"({text}){sign}{number}"
                    results.append(by_python(ast.parse(text, mode="eval").body))
                if all(result.denominator == 1 and result > 0 for result in results):
                    expected.add(canonical(text))
    assert {canonical(s.text) for found in solutions(numbers).values() for s in found if s.chain} == expected


@pytest.mark.long
def test_the_kept_start_is_in_its_window(tmp_path: Path) -> None:
    make(TASK, tmp_path / "start", seed=0)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "start" / "model", dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "start" / "model")
    problems = read_problems(tmp_path / "start" / "probe.parquet")
    measured = evaluate(model, tokenizer, problems, samples=16, max_tokens=TASK.max_response_tokens, seed=0)
    assert 0.08 <= sum(measured["right"]) / (16 * len(problems)) <= 0.25
    assert sum(right > 0 for right in measured["right"]) / len(problems) >= 0.5
    assert measured["greedy"] <= 0.5
