"""Programs with a failing test: the problems, their splits, what the warm start learns, and the task."""

import json
import random
from functools import cache
from itertools import permutations

from recipes.arithmetic.tokenizer import ASSISTANT, END, USER
from recipes.code_repair.programs import EXPRESSIONS, Arguments, asked, failure, ground_truth, response, value
from recipes.starts.task import Phase, Problem, Split, Task

TRAINING, HELD_OUT = 1600, 64
#: Of the numbers that a program is tested with.
DIGITS = range(1, 10)
#: Tests of a program, the one of the prompt among them.
TESTS = 5
#: The share of the warm start's conversations that have a wrong program before the right one.
WITH_FAILURE = 0.6


def split_problems(seed: int) -> Split:
    """Distinct problems: a broken program, the right one, and the numbers of the failing test.

    Args:
        seed: decides the problems and their hidden tests.
    """
    rng = random.Random(seed)
    pairs = list(permutations(DIGITS, 2))
    every = [(broken, right, at) for broken, right in permutations(EXPRESSIONS, 2) for at in pairs]
    rng.shuffle(every)
    # Of several right programs that give the same in the shown test one is drawn: to the policy it is one problem.
    distinct = {asked(broken, at, value(right, at)): (broken, right, at) for broken, right, at in every}
    failing = [each for each in distinct.values() if value(each[0], each[2]) != value(each[1], each[2])]
    drawn = [_problem(*each, rng) for each in failing[: TRAINING + 2 * HELD_OUT]]
    return Split(drawn[2 * HELD_OUT :], drawn[HELD_OUT : 2 * HELD_OUT], drawn[:HELD_OUT])


def _problem(broken: str, right: str, shown: Arguments, rng: random.Random) -> Problem:
    """One whose hidden tests tell its right program from all others; its band says whether the shown test does."""
    pairs = [pair for pair in permutations(DIGITS, 2) if pair != shown]
    while True:
        tests = [shown, *rng.sample(pairs, TESTS - 1)]
        if all(any(value(other, at) != value(right, at) for at in tests) for other in EXPRESSIONS if other != right):
            break
    fitting = [expression for expression in EXPRESSIONS if value(expression, shown) == value(right, shown)]
    band = "plain" if len(fitting) == 1 else "several programs pass the test"
    return Problem(asked(broken, shown, value(right, shown)), ground_truth(right, tests), band)


@cache
def tests_of(truth: str) -> tuple[tuple[Arguments, int], ...]:
    """The numbers of each test, and what is right for them."""
    tests = json.loads(truth)
    numbers = [tuple(map(int, lines.split("\n"))) for lines in tests["inputs"]]
    return tuple(((a, b), int(output)) for (a, b), output in zip(numbers, tests["outputs"], strict=True))


def right_program(problem: Problem) -> str:
    """The one expression that passes all tests."""
    (found,) = [
        expression
        for expression in EXPRESSIONS
        if all(value(expression, at) == output for at, output in tests_of(problem.ground_truth))
    ]
    return found


def repaired(problem: Problem, rng: random.Random) -> str:
    """A right program at once; or a wrong one, what fails, and the right one, with the tokens between turns."""
    right = right_program(problem)
    if rng.random() >= WITH_FAILURE:
        return response(right)
    tests = tests_of(problem.ground_truth)
    shown = tests[0]
    wrong = [expression for expression in EXPRESSIONS if expression != right]
    fitting = [expression for expression in wrong if value(expression, shown[0]) == shown[1]]
    tried = rng.choice(fitting or wrong)
    at, output = next((at, output) for at, output in tests if value(tried, at) != output)
    said = failure(at, output, str(value(tried, at)))
    return f"{response(tried)}{END}{USER}{said}{END}{ASSISTANT}{response(right)}"


TASK = Task(
    name="code_repair",
    verifier="code",
    max_prompt_tokens=128,  # of a prompt with a program before it and what fails of that
    max_response_tokens=48,
    split=split_problems,
    phases=(Phase(repaired, steps=500, lr=2e-3, decays=True, problems=24),),
)
