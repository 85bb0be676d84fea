"""maj@k: how often the answer that most of k samples give is the right one."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pacs.evaluation.sample import Graded
from pacs.rewards.answers.exact import exact
from pacs.rewards.answers.kinds import Expression
from pacs.rewards.answers.read import key_of, read
from pacs.rewards.answers.tokens import bare

#: A term that adds less than this to the result is left out.
NEGLIGIBLE = 1e-18


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
    of t answers with equally many each wins with probability 1/t; without a vote there is no right answer. Where the
    usual maj@k takes one draw, or some thousand, this is the mean over all C(n, k) of them: nothing is random, maj@1 is
    the share of right samples, and maj@n the vote of all.

    How: take each sample with probability k/n instead; given that k are taken, every choice of k is as likely as the
    others. The numbers of votes are then independent and binomial, their sum has the product of their generating
    functions, and the right answer wins with v votes if no other has more, shared with T that have as many. 1 / (1 + T)
    is the integral of u^T over 0 to 1: with u z^v in the place of z^v for each rival, it is that of a polynomial in u,
    which Gauss and Legendre's rule has exactly. The coefficient of z^k comes from the product's values at the roots of
    unity, as in a discrete Fourier transform. All values are at most 1: no overflow; of the result some 11 digits hold.

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
    right_taken, scale = _binomial(right, share), _binomial(n, share)[k]
    rivals = Counter(wrong)  # votes -> how many answers have them
    taken = {count: _binomial(count, share) for count in rivals}
    at_most = {count: chances.cumsum() for count, chances in taken.items()}
    # The product has real coefficients: of an odd number of roots of unity, half say what the others are.
    points = n + 1 + n % 2
    roots = np.exp(2j * np.pi * np.arange(points // 2 + 1) / points)
    weights = np.where(np.arange(len(roots)) == 0, 1, 2) / points
    behind = {count: np.full(len(roots), chances[0], complex) for count, chances in taken.items()}
    power = np.ones_like(roots)
    wins = 0.0
    for votes in range(1, min(right, k) + 1):
        power = power * roots
        able = [count for count in rivals if count >= votes]
        # Too unlikely to change a digit: so few or so many votes, or that few of each rival.
        if right_taken[votes] * min((at_most[count][votes] for count in able), default=1.0) > NEGLIGIBLE * scale:
            most_ties = min(sum(rivals[count] for count in able), (k - votes) // votes)
            nodes, node_weights = _gauss_legendre(most_ties // 2 + 1)
            others = n - right - sum(count * rivals[count] for count in able)
            product = np.ones((len(nodes), len(roots)), complex)
            for count in able:
                tied = np.multiply.outer(nodes, taken[count][votes] * power)
                product *= (behind[count] + tied) ** rivals[count]
            values = node_weights @ product * (1 - share + share * roots) ** others * power * roots**-k
            wins += right_taken[votes] * float(values.real @ weights)
        for count in able:
            behind[count] += taken[count][votes] * power
    return min(1.0, max(0.0, float(wins / scale)))


@lru_cache(maxsize=256)
def _binomial(n: int, share: float) -> npt.NDArray[np.float64]:
    """(n + 1,) probabilities that 0..n of n samples are taken, each with probability `share` < 1."""
    log_factorial = np.concatenate([[0.0], np.log(np.arange(1, n + 1)).cumsum()])
    taken = np.arange(n + 1)
    log_ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    chance: npt.NDArray[np.float64] = np.exp(log_ways + taken * np.log(share) + (n - taken) * np.log1p(-share))
    return chance


@lru_cache(maxsize=256)
def _gauss_legendre(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Nodes and weights on 0 to 1: exact for polynomials of degree 2 count - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2
