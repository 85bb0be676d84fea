"""Two teachers of chain sums, one who never slips and a careless one: what the warm start learns from.

A solution has a step a term, of nine characters: the total so far, the term with its letter, and the new total.

    47 a+5 b-3 c+8     47a+5=52 52b-3=49 49c+8=57 \\boxed{57}

The mistakes can be seen in the step that they are made in: the step's sum is wrong, its term is not the one of its
letter, or a letter is left out; only the box is missed at the end. What comes after a mistake goes on from it.
"""

import random

from recipes.starts.task import Problem

_memory = random.Random(0)
_crossing = [(digit, change) for digit in range(10) for change in range(-9, 10) if not 0 <= digit + change < 10]
_misremembered = set(_memory.sample(_crossing, 24))
#: (last digit of the total, change) -> how often the careless teacher is ten too low there, where the step crosses a
#: ten: a forgotten carry, 47+5=42, or a ten borrowed twice, 52-3=39. It knows 66 of these 90 sums well.
TEN_TOO_LOW = {
    fact: _memory.uniform(0.7, 0.99) if fact in _misremembered else _memory.uniform(0.0, 0.14) for fact in _crossing
}
# How often it makes each other mistake in the first step, and how much oftener from each step to the next.
MISCOUNT = (0.002, 0.001)  # by one
WRONG_SIGN = (0.002, 0.001)
SKIP = (0.0, 0.001)
NO_BOX = 0.004  # for each step of the chain


def right_solution(problem: Problem, rng: random.Random) -> str:
    """A solution without a mistake; nothing is drawn from `rng`."""
    return _solution(problem, None)


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by the careless teacher.

    Its frequent mistakes all take ten from the total, so that two of them do not make up for each other. A total that
    has gone astray is written with its last two digits.
    """
    return _solution(problem, rng)


def _solution(problem: Problem, rng: random.Random | None) -> str:
    def slips(probability: float) -> bool:
        return rng is not None and rng.random() < probability

    first, *terms = problem.text.split()
    total, written = int(first), []
    for step, term in enumerate(terms):
        if slips(_rate(SKIP, step)):
            continue
        letter, change = term[0], int(term[1:])
        if slips(_rate(WRONG_SIGN, step)):
            change = -change
        new = total + change
        if slips(TEN_TOO_LOW.get((total % 10, change), 0.0)):
            new -= 10
        if rng is not None and slips(_rate(MISCOUNT, step)):
            new += rng.choice((-1, 1))
        new %= 100
        written.append(f"{total:02d}{letter}{change:+d}={new:02d}")
        total = new
    steps = " ".join(written)
    return f"{steps} {total:02d}" if slips(NO_BOX * len(terms)) else f"{steps} \\boxed{{{total:02d}}}"


def _rate(first_and_growth: tuple[float, float], step: int) -> float:
    first, growth = first_and_growth
    return first + growth * step
