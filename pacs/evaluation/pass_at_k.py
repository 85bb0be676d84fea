"""The unbiased estimator of pass@k."""

from functools import lru_cache
from math import comb


@lru_cache(maxsize=65536)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that k of n samples, drawn without replacement, hold a right one: 1 - C(n-c, k) / C(n, k).

    The estimator of Chen et al. (2021, arXiv 2107.03374): its mean over samplings is the true pass@k for every
    k <= n. Counted in whole numbers and rounded once, so it is exact to the last bit for any n.

    Args:
        n: samples of one problem.
        c: how many of them are right.
        k: how many are drawn.

    Raises:
        ValueError: unless 0 <= c <= n and 1 <= k <= n.
    """
    if n < 1:
        raise ValueError(f"n={n}: pass@k needs at least one sample a problem")
    if not 0 <= c <= n:
        raise ValueError(f"c={c}: the number of right samples must lie between 0 and n={n}")
    if not 1 <= k <= n:
        raise ValueError(f"k={k}: pass@k needs k between 1 and n={n}; take more samples a problem or a smaller k")
    draws = comb(n, k)
    return (draws - comb(n - c, k)) / draws
