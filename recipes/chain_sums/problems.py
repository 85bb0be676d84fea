"""Chains of 8 to 14 terms in which an early mistake spoils the rest: the problems, their splits and the task."""

import random

from recipes.chain_sums.teachers import careless_solution, right_solution
from recipes.starts.task import Phase, Problem, Split, Task

#: Terms of a chain; each number of them is a band.
TERMS = (8, 10, 12, 14)
TRAINING, HELD_OUT = 600, 32  # chains of each band: for training, and for the probe and the test each
TOTALS = range(10, 100)  # of a right chain: two digits each


def split_problems(seed: int) -> Split:
    """Draw distinct chains: as many of each band in each of the three sets, the bands in turn.

    The steps that cross a ten are none to all of a chain's, each number as often in every `HELD_OUT` chains of a band.

    Args:
        seed: decides the chains.
    """
    rng = random.Random(seed)
    bands = []
    for terms in TERMS:
        chains: dict[str, Problem] = {}
        while len(chains) < TRAINING + 2 * HELD_OUT:
            # 13 times the index: the first few chains have few and many such steps, too.
            problem = draw_chain(terms, 13 * len(chains) % HELD_OUT * terms // HELD_OUT, rng)
            chains[problem.text] = problem
        bands.append(list(chains.values()))
    in_turn = [problem for one_each in zip(*bands, strict=True) for problem in one_each]
    held_out = len(TERMS) * HELD_OUT
    return Split(in_turn[2 * held_out :], in_turn[held_out : 2 * held_out], in_turn[:held_out])


def draw_chain(terms: int, crossings: int, rng: random.Random) -> Problem:
    """A chain of so many terms, in which so many steps cross a ten.

    The first term has two digits. The others are added or subtracted, have one digit, and are named by letters, by
    which a step says which term it takes: "47 a+5 b-3".
    """
    while True:
        crosses = [True] * crossings + [False] * (terms - 1 - crossings)
        rng.shuffle(crosses)
        total = rng.choice(TOTALS)
        text = str(total)
        for letter, cross in zip("abcdefghijklm", crosses, strict=False):
            changes = [d for d in range(-9, 10) if d and ((total + d) // 10 != total // 10) == cross]
            change = rng.choice(changes)
            total += change
            text += f" {letter}{change:+d}"
            if total not in TOTALS:
                break
        else:
            return Problem(text, str(total), f"{terms} terms")


TASK = Task(
    name="chain_sums",
    verifier="math",
    max_prompt_tokens=57,
    max_response_tokens=132,
    split=split_problems,
    phases=(
        Phase(right_solution, steps=760, lr=2e-3, decays=True, problems=12),
        Phase(careless_solution, steps=150, lr=3e-4, decays=False, problems=16),
    ),
)
