"""The centred 2-D picture: two models' responses over each other, with density contours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, withStroke
from scipy.stats import gaussian_kde

from pacs.base.statistics import Estimate
from pacs.diversity.measures import Array
from pacs.report import style
from pacs.report.style import COLOURS

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


SIZE_INCHES = (5.0, 5.9)
MARKERS = ("o", "^")
DASHES = ("-", (0, (4, 1.5)))
#: Shares of the responses that lie within the contours, and the width of these.
CONTOURS = {0.9: 0.9, 0.5: 1.8}
KEY = "each problem's mean is at 0; thick lines hold half\nof a model's responses, thin lines 90%"
GRID = 200
#: Standard deviations of the density's kernel that the grid goes beyond the responses within the outer line.
KERNELS = 4.0
HALO_POINTS = 1.2
#: Most points of a model that are drawn and whose density is estimated: more hide each other.
MAX_POINTS = 3000
MANY_POINTS = 200
SEED = 0


def draw(names: Sequence[str], models: Sequence[Mapping[str, Array]], title: str) -> Figure | None:
    """The figure; None where there is nothing to draw (no model has two responses that differ).

    Args:
        names: the models'.
        models: of each, problem -> (n, D) unit vectors.
        title: what it says.
    """
    points = project(models)
    if points is None:
        return None
    with style.our_style():
        figure = Figure(figsize=SIZE_INCHES, layout="constrained")
        axes = figure.add_subplot()
        shown = [_sample(one) for one in points]
        reach = max(float(np.abs(one.plane).max()) for one in shown)
        for index, one in enumerate(shown):
            _scatter(axes, one, index)
        for index, one in enumerate(shown):
            reach = max(reach, _contours(axes, one, index))
        axes.set_xlim(-1.05 * reach, 1.05 * reach)
        axes.set_ylim(-1.05 * reach, 1.05 * reach)
        axes.set_aspect("equal")
        axes.grid(False)
        axes.set_xlabel(f"{_axis(0, names, points)}\n{KEY}", parse_math=False)
        axes.set_ylabel(_axis(1, names, points), parse_math=False)
        style.set_figure_title(figure, title)
        handles = [
            Line2D([], [], color=COLOURS[i], marker=MARKERS[i], markerfacecolor="none", linestyle=DASHES[i])
            for i in range(len(names))
        ]
        style.legend_below(figure, list(zip(handles, names, strict=True)))
    return figure


def title_of(task: str, names: Sequence[str], means: Sequence[Estimate | None], gap: Estimate | None) -> str:
    """What the picture says, in one sentence.

    Args:
        task: the task's name.
        names: the models'.
        means: of their cosine distances.
        gap: second minus first, over the problems that both have.
    """
    spread = " against ".join(f"{mean.mean:.4f}" for mean in reversed(means) if mean)
    if len(names) == 1:
        says = f"how far apart responses of {names[0]} lie"
    elif gap is None or not gap.excludes_zero or gap.low == gap.high:  # of one problem it has no width
        says = f"whether responses of {names[1]} or of {names[0]} lie farther apart cannot be told"
    else:
        how = "farther apart" if gap.mean > 0 else "closer together"
        says = f"responses of {names[1]} lie {how} than those of {names[0]}"
    return f"{task}: {says} (mean cosine distance {spread})"


def _sample(points: Points) -> Points:
    count = len(points.weights)
    if count <= MAX_POINTS:
        return points
    chosen = np.random.default_rng(SEED).choice(count, MAX_POINTS, replace=False)
    weights = points.weights[chosen]
    return Points(points.plane[chosen], weights / weights.sum(), points.shares)


def _axis(index: int, names: Sequence[str], points: Sequence[Points]) -> str:
    shares = ", ".join(f"{one.shares[index]:.0%} of {name}" for name, one in zip(names, points, strict=True))
    return f"component {index + 1}: {shares}"


def _scatter(axes: Axes, points: Points, index: int) -> None:
    axes.scatter(
        points.plane[:, 0], points.plane[:, 1], s=9, marker=MARKERS[index], facecolors="none", linewidths=0.5,
        edgecolors=COLOURS[index], alpha=0.2 if len(points.plane) > MANY_POINTS else 0.7,
    )  # fmt: skip


def _contours(axes: Axes, points: Points, index: int) -> float:
    """Draw the lines within which the densest given shares of the responses lie; say how far out they go.

    None where the responses lie on a line and have no density in the plane.
    """
    try:
        density = gaussian_kde(points.plane.T, weights=points.weights)
    except np.linalg.LinAlgError:
        return 0.0
    at_points = density(points.plane.T)
    order = np.argsort(at_points)[::-1]
    held = np.cumsum(points.weights[order])
    widths = {at_points[order[np.searchsorted(held, share)]]: width for share, width in CONTOURS.items()}
    inner = points.plane[at_points >= min(widths)]
    far = float(np.abs(inner).max() + KERNELS * np.sqrt(np.diag(density.covariance)).max())
    ticks = np.linspace(-far, far, GRID)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    lines = axes.contour(
        ticks, ticks, density(grid).reshape(GRID, GRID), levels=list(widths), colors=COLOURS[index],
        linewidths=list(widths.values()), linestyles=[DASHES[index]],
    )  # fmt: skip
    # Among markers of the same colour a line is seen by what it keeps free.
    lines.set_path_effects([withStroke(linewidth=max(widths.values()) + HALO_POINTS, foreground="white"), Normal()])
    return float(max(np.abs(path.vertices).max(initial=0.0) for path in lines.get_paths()))
