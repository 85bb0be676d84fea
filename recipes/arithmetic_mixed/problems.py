"""Arithmetic in eight bands of difficulty, from trivial to out of reach: the problems and their disjoint splits."""

import random
from collections.abc import Sequence

from recipes.arithmetic_mixed.teachers import careless_solution, right_solution
from recipes.starts.task import Phase, Problem, Split, Task

#: Digits of the two operands -> pairs for training, for the probe and for the test each. Of one digit there are 45 in
#: all, so that each of the held-out ones makes a sum, a difference and a product.
PAIRS = {
    (1, 1): (29, 8),
    (2, 1): (520, 24),
    (2, 2): (520, 24 + 24 + 32),  # added, subtracted, multiplied
    (3, 3): (260, 16 + 16),
    (4, 4): (260, 16 + 16),
    (5, 5): (260, 16 + 16),
    (6, 6): (260, 16 + 16),
}
SIZES = {1: "1-2", 2: "1-2", 3: "3-4", 4: "3-4", 5: "5-6", 6: "5-6"}
#: Of the held-out pairs of two digits.
MULTIPLIED = 32

Pair = tuple[int, int]


def problem_of(left: int, operator: str, right: int) -> Problem:
    """`left operator right`, its answer and its band."""
    answer = {"+": left + right, "-": left - right, "*": left * right}[operator]
    digits = len(str(left)), len(str(right))
    if operator == "*":
        band = "product, 2 x 2 digits" if digits == (2, 2) else "product, 1-2 x 1 digits"
    else:
        band = f"{'sum' if operator == '+' else 'difference'}, {SIZES[digits[0]]} digits"
    return Problem(f"{left}{operator}{right}", str(answer), band)


def split_problems(seed: int) -> Split:
    """Draw pairs of operands, no unordered pair in two sets, and make problems of them.

    A training pair of as many digits gives a sum, in one order or the other, and the difference, and up to two digits
    the product; a pair of two digits and one gives the product. In the probe and in the test set, all bands have 32
    problems, in turn.

    Args:
        seed: decides the pairs and the order.
    """
    rng = random.Random(seed)
    train: list[Problem] = []
    held_out: tuple[list[Problem], list[Problem]] = ([], [])
    for digits, (training, held) in PAIRS.items():
        pairs = _draw_pairs(digits, training + 2 * held, rng)
        for pair in pairs[2 * held :]:
            train += _training_problems(pair, digits, rng)
        for problems, part in zip(held_out, (pairs[:held], pairs[held : 2 * held]), strict=True):
            problems += _held_out_problems(part, digits)
    for problems in (train, *held_out):
        rng.shuffle(problems)
    return Split(train, *(_bands_in_turn(problems) for problems in held_out))


def _bands_in_turn(problems: Sequence[Problem]) -> list[Problem]:
    """As many problems of each band, in such an order that the first few are, too."""
    by_band: dict[str, list[Problem]] = {}
    for problem in problems:
        by_band.setdefault(problem.band, []).append(problem)
    return [problem for one_each in zip(*by_band.values(), strict=True) for problem in one_each]


def _draw_pairs(digits: Pair, count: int, rng: random.Random) -> list[Pair]:
    """Distinct unordered pairs without zeros as operands, the larger first."""
    left, right = (range(10 ** (n - 1), 10**n) for n in digits)
    if len(left) * len(right) < 10_000:
        every = [(a, b) for a in left for b in right if a >= b]
        return rng.sample(every, count)
    drawn: dict[Pair, None] = {}
    while len(drawn) < count:
        a, b = rng.choice(left), rng.choice(right)
        drawn[max(a, b), min(a, b)] = None
    return list(drawn)


def _training_problems(pair: Pair, digits: Pair, rng: random.Random) -> list[Problem]:
    large, small = pair
    problems = []
    if digits[0] == digits[1]:
        problems += [rng.choice([(large, "+", small), (small, "+", large)]), (large, "-", small)]
    if digits[0] <= 2:
        problems.append((large, "*", small))
    return [problem_of(*problem) for problem in problems]


def _held_out_problems(pairs: Sequence[Pair], digits: Pair) -> list[Problem]:
    if digits == (1, 1):
        return [problem_of(large, operator, small) for large, small in pairs for operator in "+-*"]
    if digits == (2, 1):
        return [problem_of(large, "*", small) for large, small in pairs]
    multiplied = MULTIPLIED if digits == (2, 2) else 0
    problems = [problem_of(large, "*", small) for large, small in pairs[:multiplied]]
    for i, (large, small) in enumerate(pairs[multiplied:]):
        # Sums and differences in turn, and every other sum with the smaller operand first.
        problems.append(problem_of(*((small, "+", large) if i % 4 == 0 else (large, "+-"[i % 2], small))))
    return problems


TASK = Task(
    name="arithmetic_mixed",
    verifier="math",
    max_prompt_tokens=16,
    max_response_tokens=64,
    split=split_problems,
    phases=(
        Phase(right_solution, steps=800, lr=2e-3, decays=True, problems=32),
        Phase(careless_solution, steps=100, lr=3e-4, decays=False, problems=48),
    ),
)
