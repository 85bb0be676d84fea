"""Countdown: three or four numbers and a target, which several expressions reach; the problems and the task."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations_with_replacement

from recipes.countdown.solutions import Solution, solutions
from recipes.starts.task import Phase, Problem, Split, Task

NUMBERS = range(1, 10)
TARGETS = range(10, 41)
#: Fewest solutions of a problem of each band.
BANDS = {
    "3 numbers, 2 or more solutions": (3, 2),
    "4 numbers, 2 or 3 solutions": (4, 2),
    "4 numbers, 4 to 7 solutions": (4, 4),
    "4 numbers, 8 or more solutions": (4, 8),
}
#: The most problems of a band with the same numbers.
TARGETS_EACH = 4
HELD_OUT_EACH = 32
#: How often the careless teacher forgets the target.
FORGET_TARGET = 0.6


def right_solution(problem: Problem, rng: random.Random) -> str:
    """One of the teacher's solutions of the problem, each as likely."""
    return written(rng.choice(taught(_numbers(problem))[_target(problem)]))


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by a teacher who mostly forgets the target: a calculation that is right in itself, whatever comes."""
    if rng.random() >= FORGET_TARGET:
        return right_solution(problem, rng)
    return written(rng.choice([solution for found in taught(_numbers(problem)).values() for solution in found]))


@cache
def taught(numbers: tuple[int, ...]) -> dict[int, list[Solution]]:
    """Target -> the solutions that a teacher knows: chains whose results have two digits at most.

    Args:
        numbers: in ascending order.
    """
    chains: dict[int, list[Solution]] = {}
    for target, found in solutions(numbers).items():
        for solution in found:
            if solution.chain and not re.search(r"=\d{3}", solution.chain):
                chains.setdefault(target, []).append(solution)
    return chains


def written(solution: Solution) -> str:
    r"""The response to a chain: "13-4=9*2=18 \boxed{(13-4)*2}"."""
    return f"{solution.chain} \\boxed{{{solution.text}}}"


def _numbers(problem: Problem) -> tuple[int, ...]:
    return tuple(sorted(json.loads(problem.ground_truth)["numbers"]))


def _target(problem: Problem) -> int:
    return int(json.loads(problem.ground_truth)["target"])


def split_problems(seed: int) -> Split:
    """Training problems, and `HELD_OUT_EACH` of each band for probe and test; no numbers are in two sets.

    Args:
        seed: of the choice of numbers and of targets, of their order, and of who gets which.
    """
    rng = random.Random(seed)
    choices = [numbers for length in (3, 4) for numbers in combinations_with_replacement(NUMBERS, length)]
    rng.shuffle(choices)
    problems = [_problems(numbers, rng) for numbers in choices]
    held_out: list[list[Problem]] = [[], []]
    for chosen in held_out:
        missing = Counter(dict.fromkeys(BANDS, HELD_OUT_EACH))
        remaining = []
        for same_numbers in problems:
            wanted = [problem for problem in same_numbers if missing[problem.band]]
            if wanted:
                chosen.append(rng.choice(wanted))
                missing[chosen[-1].band] -= 1
            else:
                remaining.append(same_numbers)
        problems = remaining
    train = [problem for same_numbers in problems for problem in same_numbers]
    rng.shuffle(train)
    return Split(train, *held_out)


def _problems(numbers: Sequence[int], rng: random.Random) -> list[Problem]:
    """Those of one choice of numbers: at most `TARGETS_EACH` a band, the numbers in an order of their own."""
    by_band: dict[str, list[int]] = {}
    for target, found in solutions(tuple(numbers)).items():
        bands = [band for band, (length, fewest) in BANDS.items() if length == len(numbers) and len(found) >= fewest]
        if target in TARGETS and target not in numbers and bands and target in taught(tuple(numbers)):
            by_band.setdefault(bands[-1], []).append(target)
    problems = []
    for band, targets in by_band.items():
        for target in rng.sample(targets, min(TARGETS_EACH, len(targets))):
            shown = rng.sample(numbers, len(numbers))
            text = f"{' '.join(map(str, shown))}={target}"
            problems.append(Problem(text, json.dumps({"numbers": shown, "target": target}), band))
    return problems


TASK = Task(
    name="countdown",
    verifier="countdown",
    max_prompt_tokens=14,
    max_response_tokens=40,
    split=split_problems,
    phases=(
        Phase(right_solution, steps=3600, lr=3e-3, decays=True, problems=64),
        Phase(careless_solution, steps=120, lr=3e-4, decays=False, problems=64),
    ),
)
