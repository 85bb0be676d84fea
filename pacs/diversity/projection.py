"""Embeddings of several models in one plane, each problem's mean at its origin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pacs.diversity.distance import Array

#: A mean cosine distance below this is rounding: the responses are the same.
SAME = 1e-12


@dataclass(frozen=True)
class Points:
    """A model's responses in the plane.

    Attributes:
        plane: (N, 2).
        weights: (N,), sum 1: every problem counts the same, however many responses it has.
        shares: of the model's whole spread (its mean pairwise cosine distance), what lies along each axis.
    """

    plane: Array
    weights: Array
    shares: tuple[float, float]


def project(models: Sequence[Mapping[str, Array]]) -> list[Points] | None:
    """The two principal components of all models' responses together, each problem's mean removed from a model's own.

    The mean is removed because it says what the problem is, and the rest how differently it is answered. What the plane
    shows is then what Eq. 15 measures: a problem's covariance, by n - 1, has its mean pairwise cosine distance as its
    trace; the mean of these over problems is decomposed, every problem and every model counting the same.

    Args:
        models: of each, problem -> (n, D) unit vectors; a problem with fewer than two rows is left out.

    Returns:
        The points of each model; None if a model has no problem with two rows, or all rows of a problem are the same.
    """
    centred = [[units - units.mean(axis=0) for units in model.values() if len(units) > 1] for model in models]
    if not all(centred):
        return None
    covariances = [np.mean([rows.T @ rows / (len(rows) - 1) for rows in problems], axis=0) for problems in centred]
    if min(map(np.trace, covariances)) < SAME:
        return None
    _, vectors = np.linalg.eigh(np.mean(covariances, axis=0))
    axes = vectors[:, :-3:-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # else the sign is the library's whim
    return [
        Points(
            plane=np.concatenate(problems) @ axes,
            weights=np.concatenate([np.full(len(rows), 1 / len(rows) / len(problems)) for rows in problems]),
            shares=tuple(np.diag(axes.T @ covariance @ axes) / np.trace(covariance)),
        )
        for problems, covariance in zip(centred, covariances, strict=True)
    ]
