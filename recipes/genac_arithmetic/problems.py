"""Chains of 6 and 8 terms as recipes/chain_sums draws them: four sets, and the careless actor's warm start."""

import random

from recipes.chain_sums.problems import draw_chain
from recipes.chain_sums.teachers import careless_solution, right_solution
from recipes.starts.task import Phase, Problem, Split, Task

#: Terms of a chain; each number of them is a band.
TERMS = (6, 8)
#: Chains of each band: for training the actor, for the critics before that, and for the probe and the test each.
TRAINING, CRITICS, HELD_OUT = 600, 600, 48


def split_problems(seed: int) -> Split:
    """The sets that a start has."""
    return _drawn(seed)[0]


def critic_problems(seed: int) -> list[Problem]:
    """What critics learn from before the actor is trained: problems that are in none of the start's sets."""
    return _drawn(seed)[1]


def _drawn(seed: int) -> tuple[Split, list[Problem]]:
    """Distinct chains. The steps that cross a ten are none to all of a chain's, each number about as often."""
    rng = random.Random(seed)
    bands = []
    for terms in TERMS:
        chains: dict[str, Problem] = {}
        while len(chains) < TRAINING + CRITICS + 2 * HELD_OUT:
            problem = draw_chain(terms, 7 * len(chains) % terms, rng)
            chains[problem.text] = problem
        bands.append(list(chains.values()))
    in_turn = [problem for one_each in zip(*bands, strict=True) for problem in one_each]
    held_out, critics = len(TERMS) * HELD_OUT, len(TERMS) * CRITICS
    test, probe, others = in_turn[:held_out], in_turn[held_out : 2 * held_out], in_turn[2 * held_out :]
    return Split(others[critics:], probe, test), others[:critics]


TASK = Task(
    name="genac_arithmetic",
    verifier="math",
    max_prompt_tokens=33,
    max_response_tokens=84,
    split=split_problems,
    phases=(
        Phase(right_solution, steps=900, lr=3e-3, decays=True, problems=16),
        Phase(careless_solution, steps=100, lr=3e-4, decays=False, problems=16),
    ),
)
