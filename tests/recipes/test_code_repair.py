"""Code repair in miniature: programs by Python itself, problems that one program alone solves, and what is told."""

import json
import random
from functools import cache

import pytest

from pacs.rewards import code
from pacs.rewards.guidance import guidance_of, guided_messages
from recipes.arithmetic.tokenizer import ASSISTANT, END, USER, build_tokenizer
from recipes.code_repair.problems import (
    DIGITS,
    HELD_OUT,
    TASK,
    TESTS,
    TRAINING,
    repaired,
    right_program,
    split_problems,
)
from recipes.code_repair.programs import EXPRESSIONS, response, source, value
from recipes.code_repair.reward import compute_score
from recipes.starts.task import Problem, Split


@cache
def made() -> Split:
    """The problems of the recipe; made when they are first asked for, and not while tests are collected."""
    return split_problems(seed=0)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_programs_give_what_python_gives(expression: str) -> None:
    names: dict = {}
    exec(source(expression), names)
    assert all(names["f"](a, b) == value(expression, (a, b)) for a in DIGITS for b in DIGITS)


def test_one_program_alone_passes_a_problem_s_tests_and_the_broken_one_fails_the_shown_one() -> None:
    for problem in made().train[:200]:
        program, shown = problem.text.rsplit("\n", 1)
        (broken,) = [expression for expression in EXPRESSIONS if source(expression).strip() == program]
        tests = json.loads(problem.ground_truth)
        assert len(tests["inputs"]) == len(set(tests["inputs"])) == TESTS
        a, b = map(int, tests["inputs"][0].split("\n"))
        assert shown == f"f({a},{b}) should be {tests['outputs'][0]}"
        assert str(eval(broken, {"a": a, "b": b})) != tests["outputs"][0]
        passing = [
            expression
            for expression in EXPRESSIONS
            if all(
                str(eval(expression, dict(zip("ab", map(int, given.split("\n")), strict=True)))) == output
                for given, output in zip(tests["inputs"], tests["outputs"], strict=True)
            )
        ]
        assert passing == [right_program(problem)]


def test_no_problem_is_in_two_sets() -> None:
    sets = [{problem.text for problem in part} for part in (made().train, made().probe, made().test)]
    assert [len(part) for part in sets] == [TRAINING, HELD_OUT, HELD_OUT]
    assert len(set.union(*sets)) == sum(map(len, sets))


def example() -> tuple[Problem, str]:
    problem = made().train[0]
    return problem, next(expression for expression in EXPRESSIONS if expression != right_program(problem))


def test_the_verdict_is_that_of_the_verifier_of_programs_with_what_fails() -> None:
    problem, wrong = example()
    first = json.loads(problem.ground_truth)
    answers = {
        response(right_program(problem)): "correct",
        response(wrong): "wrong",
        "no program": "no_answer",
        "```\ndef f(a,b):\n return a/0\n```": "wrong",
    }
    for answer, status in answers.items():
        theirs, ours = (score("", answer, problem.ground_truth) for score in (code.compute_score, compute_score))
        said = ours.pop("feedback", None)
        assert ours == theirs
        assert ours["status"] == status
        assert (said is None) == (status == "correct")
    a, b = first["inputs"][0].split("\n")
    failing = compute_score("", "```\ndef f(a,b):\n return a/0\n```", problem.ground_truth)["feedback"]
    assert failing == f"f({a},{b}) fails, should be {first['outputs'][0]}"
    told = compute_score("", response(wrong), problem.ground_truth)["feedback"]
    assert told.endswith(tuple(f"should be {output}" for output in first["outputs"]))


def test_the_warm_start_has_the_conversations_of_retries() -> None:
    """Token for token what a retry's prompt is, with the right program behind it."""
    tokenizer, rng = build_tokenizer(4096), random.Random(0)
    seen = set()
    for problem in made().train[:12]:
        solution = repaired(problem, rng)
        *before, last = solution.split(f"{END}{ASSISTANT}")
        assert last == response(right_program(problem))
        seen.add(len(before))
        if not before:
            continue
        tried, said = before[0].split(f"{END}{USER}")
        verdict = compute_score("", tried, problem.ground_truth)
        assert (verdict["status"], verdict["feedback"]) == ("wrong", said)
        told = guidance_of("error", {}, verdict, part=1.0, characters=40)
        messages = guided_messages([{"role": "user", "content": problem.text}], "error", str(told), "{guidance}", tried)
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        assert prompt + last == f"{USER}{problem.text}{END}{ASSISTANT}{solution}"
        assert len(tokenizer(prompt)["input_ids"]) <= TASK.max_prompt_tokens
        assert len(tokenizer(last + END)["input_ids"]) <= TASK.max_response_tokens
    assert seen == {0, 1}
