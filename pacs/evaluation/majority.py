"""maj@k: how often the answer that most of k samples give is the right one."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pacs.evaluation.sample import Graded
from pacs.rewards.notation import bare, canonical
from pacs.rewards.numbers import number


def votes(samples: Sequence[Graded]) -> tuple[int, list[int]]:
    """How many samples give the right answer, and how many each of the wrong ones.

    Right are those that the verifier takes for right, however they are written: one answer. Wrong answers count as one
    where they are the same number, or the same text once spaces and LaTeX's ways of writing are made one
    (`pacs.rewards.notation`); what it takes algebra to see is not seen. A sample without an answer has no vote.
    """
    right = sum(graded.status == "correct" for graded in samples)
    wrong = Counter(_answer(graded.predicted) for graded in samples if graded.status != "correct" and graded.predicted)
    return right, list(wrong.values())


def _answer(predicted: str) -> object:
    text = canonical(bare(predicted))
    read = number(text)
    return text if read is None else read.value


def maj_at_k(right: int, wrong: list[int], n: int, k: int) -> float:
    """Probability that the majority of k of n samples, drawn without replacement, is the right answer.

    The vote is that of self-consistency (Wang et al. 2022, arXiv 2203.11171): the answer with the most votes wins, and
    of t answers with equally many each wins with probability 1/t; without a vote there is no right answer. Where the
    usual maj@k takes one draw, or some thousand, this is the mean over all C(n, k) of them: nothing is random, maj@1 is
    the share of right samples, and maj@n the vote of all.

    How: take each sample with probability k/n instead; given that k are taken, every choice of k is as likely as the
    others. The numbers of votes are then independent and binomial, and the right answer wins with v votes if no other
    has more and 1/t for those that have as many. Sums of probabilities only: no cancellation, no overflow.

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
    if k == n:
        return (right >= max(wrong, default=0)) / (1 + wrong.count(right))
    share = k / n
    right_taken = _binomial(right, share)
    wins = 0.0
    for votes in range(1, min(right, k) + 1):
        rivals = [count for count in wrong if count >= votes]
        rest = k - votes
        # [i, j]: i others are taken and j rivals have as many votes as the right answer. Those who cannot are one.
        chance = np.zeros((rest + 1, min(len(rivals), rest // votes) + 1))
        others = _binomial(n - right - sum(rivals), share)[: rest + 1]
        chance[: len(others), 0] = others
        for count in rivals:
            chance = _with_rival(chance, _binomial(count, share)[: votes + 1])
        wins += right_taken[votes] * (chance[rest] / np.arange(1, chance.shape[1] + 1)).sum()
    return min(1.0, float(wins / _binomial(n, share)[k]))


@lru_cache(maxsize=256)
def _binomial(n: int, share: float) -> npt.NDArray[np.float64]:
    """(n + 1,) probabilities that 0..n of n samples are taken, each with probability `share` < 1."""
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    taken = np.arange(n + 1)
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    chance: npt.NDArray[np.float64] = np.exp(log_ways + taken * np.log(share) + (n - taken) * np.log1p(-share))
    return chance


def _with_rival(chance: npt.NDArray[np.float64], taken: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`chance` with one more rival, of whom 0..v votes are taken with probabilities (v + 1,) `taken`; v is a tie."""
    votes = len(taken) - 1
    behind = np.stack([np.convolve(column, taken[:votes])[: len(column)] for column in chance.T], axis=1)
    behind[votes:, 1:] += taken[votes] * chance[:-votes, :-1]
    return behind
