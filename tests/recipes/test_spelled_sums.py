"""Spelled sums: the words of numbers by hand, the teachers, the sets, and what counts as right in the end."""

import random
import re

from recipes.spelled_sums.problems import (
    BANDS,
    HELD_OUT,
    TASK,
    WORDINGS,
    careless_solution,
    in_words,
    is_right,
    right_solution,
    split_problems,
)


def test_numbers_have_their_words() -> None:
    by_hand = {0: "zero", 7: "seven", 13: "thirteen", 20: "twenty", 42: "forty-two", 80: "eighty", 99: "ninety-nine"}
    assert {number: in_words(number) for number in by_hand} == by_hand
    assert len({in_words(number) for number in range(100)}) == 100


def test_a_solution_works_digit_by_digit_and_is_right_in_any_wording() -> None:
    split, dice, wordings = split_problems(0), random.Random(0), set()
    for problem in split.train[:400]:
        solution = right_solution(problem, dice)
        first, second = map(int, problem.text.split("+"))
        parts = re.fullmatch(r"(\d)\+(\d)=(\d+) (\d)\+(\d)(\+1)?=(\d) \\boxed\{(.*)\}", solution)
        assert parts is not None
        ones, tens = int(parts[3]), int(parts[7])
        assert (ones, 10 * tens + ones % 10) == (first % 10 + second % 10, first + second)
        assert (parts[6] is not None) == (ones >= 10) == (problem.band == BANDS[1])
        wordings.add(parts[8].replace(in_words(first + second), "{}"))
        assert is_right(problem.text, solution)
    assert wordings == set(WORDINGS)


def test_the_careless_teacher_forgets_to_carry_and_says_what_comes_out() -> None:
    dice, wrong, carried = random.Random(1), 0, 0
    for problem in split_problems(0).train:
        solution = careless_solution(problem, dice)
        first, second = map(int, problem.text.split("+"))
        said = first + second - 10 * (not is_right(problem.text, solution))
        assert in_words(said) in solution.rpartition("{")[2]
        carried += problem.band == BANDS[1]
        wrong += said != first + second
        assert said == first + second or problem.band == BANDS[1]
    assert 0.55 < wrong / carried < 0.65


def test_the_sets_share_no_problem_and_fit() -> None:
    split = split_problems(0)
    texts = [problem.text for some in (split.train, split.probe, split.test) for problem in some]
    assert len(texts) == len(set(texts)) == sum(1 for a in range(10, 90) for b in range(10, 100 - a))
    for some in (split.probe, split.test):
        assert [sum(problem.band == band for problem in some) for band in BANDS] == [HELD_OUT, HELD_OUT]
    dice = random.Random(2)
    longest = max(len(right_solution(problem, dice)) for problem in split.train for _ in range(3))
    assert longest < TASK.max_response_tokens
    # The longest right answer has room behind the longest reasoning.
    reasoning = len("9+9=18 8+0+1=9 \\boxed{")
    assert reasoning + max(len(problem.ground_truth) for problem in split.train) < TASK.max_response_tokens
    assert max(map(len, texts)) + 3 <= TASK.max_prompt_tokens
    assert split_problems(0) == split
    assert split_problems(1) != split


def test_most_test_problems_are_trained_on_the_other_way_round() -> None:
    """As README.md says."""
    split = split_problems(0)
    trained = {problem.text for problem in split.train}
    swapped = ["+".join(reversed(problem.text.split("+"))) for problem in split.test]
    assert (sum(text in trained for text in swapped), len(swapped)) == (115, 128)


def test_right_is_the_sum_in_the_last_box() -> None:
    assert is_right("47+38", "7+8=15 \\boxed{that makes eighty-five}")
    assert not is_right("47+38", "\\boxed{eighty-five} no: \\boxed{seventy-five}")
    assert not is_right("47+38", "eighty-five")
    assert not is_right("47+38", "\\boxed{seventy-five or eighty-five}")
    assert not is_right("42+38", "\\boxed{it is eighty-five}")
