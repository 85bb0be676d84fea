"""The centred 2-D picture: two models' responses over each other, with density contours."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pacs.diversity.distance import Array
from pacs.diversity.projection import Points, project
from pacs.evaluation.bootstrap import Estimate
from pacs.report.plots import COLOURS, house_style

SIZE_INCHES = (5.0, 5.4)
MARKERS = ("o", "^")
DASHES = ("-", (0, (4, 1.5)))
#: Shares of the responses that lie within the contours, and the width of these.
CONTOURS = {0.9: 0.9, 0.5: 1.8}
GRID = 160
#: Most points of a model that are drawn and whose density is estimated: more hide each other.
MAX_POINTS = 3000
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
    with house_style():
        figure = Figure(figsize=SIZE_INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        shown = [_sample(one) for one in points]
        reach = 1.05 * max(float(np.abs(one.plane).max()) for one in shown)
        for index, one in enumerate(shown):
            _scatter(axes, one, index)
        for index, one in enumerate(shown):
            _contours(axes, one, index, reach)
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
        axes.set_aspect("equal")
        axes.grid(False)
        axes.set_xlabel(_axis(0, names, points), parse_math=False)
        axes.set_ylabel(_axis(1, names, points), parse_math=False)
        axes.set_title(title, parse_math=False)
        handles = [
            Line2D([], [], color=COLOURS[i], marker=MARKERS[i], linestyle=DASHES[i], markersize=4)
            for i in range(len(names))
        ]
        legend = figure.legend(handles, names, loc="outside lower center", ncols=2)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure


def title_of(task: str, names: Sequence[str], means: Sequence[Estimate | None], gap: Estimate | None) -> str:
    """What the picture says, in one sentence.

    Args:
        task: the task's name.
        names: the models'.
        means: of their cosine distances.
        gap: second minus first, over the problems that both have.
    """
    spread = " against ".join(f"{mean.mean:.4f}" for mean in means if mean)
    if len(names) == 1:
        return f"{task}: responses to a problem are {spread} apart (cosine distance)"
    if gap is None or not gap.excludes_zero:
        says = f"responses of {names[1]} and {names[0]} lie about equally far apart"
    else:
        says = (
            f"responses of {names[1]} lie {'farther apart' if gap.mean > 0 else 'closer together'} than of {names[0]}"
        )
    return f"{task}: {says}\nmean cosine distance within a problem {spread}"


def _sample(points: Points) -> Points:
    count = len(points.weights)
    if count <= MAX_POINTS:
        return points
    chosen = np.random.default_rng(SEED).choice(count, MAX_POINTS, replace=False, p=points.weights)
    return Points(points.plane[chosen], np.full(MAX_POINTS, 1 / MAX_POINTS), points.shares)


def _axis(index: int, names: Sequence[str], points: Sequence[Points]) -> str:
    shares = ", ".join(f"{one.shares[index]:.0%} of {name}" for name, one in zip(names, points, strict=True))
    return f"component {index + 1}: {shares}"


def _scatter(axes: Axes, points: Points, index: int) -> None:
    axes.scatter(
        points.plane[:, 0], points.plane[:, 1], s=9, marker=MARKERS[index], facecolors="none", edgecolors=COLOURS[index], linewidths=0.5,
        alpha=0.35 if len(points.plane) > 200 else 0.8,
    )  # fmt: skip


def _contours(axes: Axes, points: Points, index: int, reach: float) -> None:
    """Lines within which the densest given shares of the responses lie; none where they lie on a line."""
    from scipy.stats import gaussian_kde

    if np.linalg.matrix_rank(points.plane) < 2:
        return
    density = gaussian_kde(points.plane.T, weights=points.weights)
    at_points = density(points.plane.T)
    order = np.argsort(at_points)[::-1]
    held = np.cumsum(points.weights[order])
    widths = {at_points[order[np.searchsorted(held, share)]]: width for share, width in CONTOURS.items()}
    ticks = np.linspace(-reach, reach, GRID)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(ticks, ticks)])
    axes.contour(
        ticks, ticks, density(grid).reshape(GRID, GRID), levels=list(widths), colors=COLOURS[index],
        linewidths=list(widths.values()), linestyles=[DASHES[index]],
    )  # fmt: skip
