"""maj@k: how often the answer that most of k samples give is the right one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pacs.evaluation.sample import Graded
from pacs.rewards.answers.exact import exact
from pacs.rewards.answers.read import key_of, read
from pacs.rewards.answers.tokens import bare
from pacs.rewards.answers.types import Expression

#: Of k samples, for a problem's maj@k.
DRAWS = 1000


def votes(samples: Sequence[Graded]) -> tuple[int, list[int]]:
    """How many samples give the right answer, and how many each of the wrong ones.

    Right are those that the verifier takes for right, however they are written: one answer. Wrong answers count as one
    where they are the same rational number, or the same text once spaces and LaTeX's ways of writing are made one
    (`pacs.rewards.answers.read.key_of`). A sample without an answer has no vote.
    """
    right = sum(graded.status == "correct" for graded in samples)
    wrong = Counter(_answer(graded.predicted) for graded in samples if graded.status != "correct" and graded.predicted)
    return right, list(wrong.values())


def _answer(predicted: str) -> object:
    text = bare(predicted)
    try:
        answer = read(text)
        value = exact(answer.node) if isinstance(answer, Expression) else None
        return key_of(text) if value is None else value
    except ValueError:  # it is nothing that can be read, or beyond a bound
        return text


def maj_at_k(right: int, wrong: list[int], n: int, k: int) -> float:
    """Probability that the majority of k of n samples, drawn without replacement, is the right answer.

    The vote is that of self-consistency (Wang et al. 2022, arXiv 2203.11171): the answer with the most votes wins, and
    of t answers with equally many each wins with probability 1/t; without a vote there is no right answer. It is the
    mean over `DRAWS` draws of k samples, the same ones whenever the counts are the same; maj@1 (the share of right
    samples) and maj@n (the vote of all) are exact. A problem's value is off by 0.01 or so, the mean over 100 problems
    by 0.001, a thirtieth of its standard error over problems.

    Args:
        right: samples with the right answer.
        wrong: samples with each of the wrong answers.
        n: samples of the problem; those that are in neither have no answer.
        k: how many are drawn.

    Raises:
        ValueError: unless 1 <= k <= n, and n has room for the votes.
    """
    if not 1 <= k <= n:
        raise ValueError(f"k={k}: maj@k needs k between 1 and n={n}; take more samples a problem or a smaller k")
    if right + sum(wrong) > n:
        raise ValueError(f"n={n}: fewer samples than votes ({right} right, {sum(wrong)} wrong)")
    if right == 0:
        return 0.0
    if k == 1:
        return right / n
    if k == n:
        return (right >= max(wrong, default=0)) / (1 + wrong.count(right))
    generator = np.random.default_rng([n, k, right, *wrong])
    counts = [right, *wrong, n - right - sum(wrong)]
    votes = generator.multivariate_hypergeometric(counts, k, size=DRAWS, method="marginals")[:, :-1]
    winners = votes == votes.max(axis=1, keepdims=True)
    wins = winners[:, 0] & (votes[:, 0] > 0)
    return float((wins / winners.sum(axis=1)).mean())
