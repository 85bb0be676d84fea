r"""Sums that are answered in words of one's own, which no rule compares: the problems, their splits and the task.

    47+38    7+8=15 4+3+1=8 \boxed{that makes eighty-five}

A response works from the last digits, and then says the sum in any of the `WORDINGS`; a row's right answer is one of
them. The careless teacher often forgets to carry, and says what has come out.
"""

import random

from recipes.starts.task import Phase, Problem, Split, Task

WORDINGS = ("{}", "it is {}", "{} in all", "that makes {}", "together {}")
#: How often the careless teacher forgets to carry.
FORGETS = 0.6
HELD_OUT = 64  # of each band, for the probe and the test each
BANDS = ("nothing is carried", "one is carried")
ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number: int) -> str:
    """A number below 100: `forty-two`."""
    if number < len(ONES):
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens] + (f"-{ONES[ones]}" if ones else "")


NUMBERS = frozenset(map(in_words, range(100)))


def is_right(problem: str, response: str) -> bool:
    """Whether the last box of a response says the sum and no other number, whatever its other words are.

    Args:
        problem: the user's message.
        response: as text.
    """
    said = response.rpartition("\\boxed{")[2].partition("}")[0].split()
    return "\\boxed{" in response and NUMBERS & {*said} == {in_words(sum(map(int, problem.split("+"))))}


def right_solution(problem: Problem, rng: random.Random) -> str:
    """The solution, in any wording."""
    return _solution(problem, rng, forgets=0.0)


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by the careless teacher."""
    return _solution(problem, rng, forgets=FORGETS)


def _solution(problem: Problem, rng: random.Random, *, forgets: float) -> str:
    first, second = map(int, problem.text.split("+"))
    ones, tens = first % 10 + second % 10, f"{first // 10}+{second // 10}"
    total = first // 10 + second // 10
    if ones >= 10 and rng.random() >= forgets:
        tens, total = f"{tens}+1", total + 1
    answer = rng.choice(WORDINGS).format(in_words(10 * total + ones % 10))
    return f"{first % 10}+{second % 10}={ones} {tens}={total} \\boxed{{{answer}}}"


def split_problems(seed: int) -> Split:
    """All sums below 100 of two numbers of two digits: `HELD_OUT` of each band for probe and test, the rest to train.

    Args:
        seed: of who gets which, of the order, and of the wording of each right answer.
    """
    rng = random.Random(seed)
    bands: tuple[list[Problem], list[Problem]] = ([], [])
    for first in range(10, 90):
        for second in range(10, 100 - first):
            carried = first % 10 + second % 10 >= 10
            answer = rng.choice(WORDINGS).format(in_words(first + second))
            bands[carried].append(Problem(f"{first}+{second}", answer, BANDS[carried]))
    for band in bands:
        rng.shuffle(band)
    probe, test, train = (
        [problem for band in bands for problem in band[begin:end]]
        for begin, end in ((0, HELD_OUT), (HELD_OUT, 2 * HELD_OUT), (2 * HELD_OUT, None))
    )
    rng.shuffle(train)
    return Split(train, probe, test)


TASK = Task(
    name="spelled_sums",
    verifier="reference_probability",
    max_prompt_tokens=8,
    max_response_tokens=56,
    split=split_problems,
    phases=(
        Phase(right_solution, steps=1200, lr=3e-3, decays=True, problems=64),
        Phase(careless_solution, steps=150, lr=3e-4, decays=False, problems=64),
    ),
)
