"""Mean pairwise cosine distance, the diversity of the paper's Appendix E."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def unit_vectors(embeddings: npt.NDArray[np.floating]) -> Array:
    """Scale each row to length 1, in 64 bits.

    Args:
        embeddings: (n, D).

    Raises:
        ValueError: a row is zero or not finite, so that it has no direction.
    """
    rows = embeddings.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("an embedding is zero or not finite: it has no direction")
    units: Array = rows / lengths
    return units


def mean_cosine_distance(units: Array) -> float:
    """The mean of 1 - cos over all pairs of rows, exactly, without making the pairs.

    The summand of Eq. 15: 2 / (n (n-1)) * sum_{i<j} (1 - u_i . u_j). For unit vectors 1 - u_i . u_j =
    |u_i - u_j|^2 / 2, and sum_{i<j} |u_i - u_j|^2 = n sum_i |u_i - m|^2 with m their mean. So it is

        sum_i |u_i - m|^2 / (n - 1),

    the total variance of the unit vectors. Nothing cancels, however alike the responses are.

    Args:
        units: (n, D), rows of length 1.

    Raises:
        ValueError: fewer than two rows, which make no pair.
    """
    if len(units) < 2:
        raise ValueError(f"{len(units)} response(s) make no pair")
    return float(np.square(units - units.mean(axis=0)).sum() / (len(units) - 1))
