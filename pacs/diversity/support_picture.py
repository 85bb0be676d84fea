"""What policies gain and lose, drawn: shares of problems and the four metrics, each with its interval.

Over the steps of a run; of a single policy over k.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pacs.base.statistics import Estimate
from pacs.diversity.curves import Point, label
from pacs.diversity.support_document import ALL, Comparison
from pacs.report import style
from pacs.report.figures import AXES_SHARE, PAGE_INCHES, PNG_DOTS_PER_INCH
from pacs.report.findings import shorten

ROW_INCHES = 2.1
ROWS, COLUMNS = 3, 2


class Panel(NamedTuple):
    """One axes: what it shows, and of what it is a share."""

    title: str
    unit: str
    value: Callable[[Point], Estimate | None]


PANELS = (
    Panel("Gained", "share of problems", lambda point: point.shares["gained"]),
    Panel("Lost", "share of problems", lambda point: point.shares["lost"]),
    Panel("Retention, SRR", "of what was solved", lambda point: point.metrics["SRR"]),
    Panel("Discovery, NDR", "of what is solved", lambda point: point.metrics["NDR"]),
    Panel("Both, SDS", "harmonic mean", lambda point: point.metrics["SDS"]),
    Panel("Net change, NSCR", "of what either solves", lambda point: point.metrics["NSCR"]),
)


def lines_of(found: Comparison) -> tuple[str, dict[str, dict[int, Point]]]:
    """What the horizontal axis is, and what is drawn over it, by its name.

    Over the steps: of one task a line a k, of several one a task, by its largest k, and one of all. Over k: one a task.
    """
    curves = {task: result.at for task, result in found.results.items()}
    if found.together:
        curves[ALL] = dict(found.together)
    steps = [key for key in next(iter(curves[next(iter(curves))].values())).points if isinstance(key, int)]
    if len(steps) < 2:
        return "k", {task: {k: curve.last[1] for k, curve in at.items()} for task, at in curves.items()}
    if len(curves) == 1:
        ((_, at),) = curves.items()
        named = {f"k = {k}": curve for k, curve in sorted(at.items(), reverse=True)}
    else:
        named = {f"{task}, k = {max(at)}": at[max(at)] for task, at in curves.items()}
    return "step", {name: {step: curve.points[step] for step in steps} for name, curve in named.items()}


def draw(found: Comparison) -> Figure:
    """The figure: a panel a number, a line a task (or a k)."""
    axis, lines = lines_of(found)
    width = PAGE_INCHES / COLUMNS
    with style.our_style():
        size = (PAGE_INCHES, ROWS * ROW_INCHES + 0.9)
        figure = Figure(figsize=size, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        for axes, panel in zip(figure.subplots(ROWS, COLUMNS).flat, PANELS, strict=True):
            axes.set_xlabel(axis)
            _draw_panel(axes, panel, lines, AXES_SHARE * width)
        style.set_figure_title(figure, title_of(found))
        handles = [Line2D([], [], **style.line_style(0, index, 1)) for index in range(len(lines))]
        said = list(zip(handles, map(shorten, lines), strict=True)) if len(lines) > 1 else []
        style.legend_below(figure, [*said, (style.band_mark(), "95% interval: bootstrap over problems")])
    return figure


def title_of(found: Comparison) -> str:
    """What was found of the last policy, of all tasks by their largest k."""
    last = [result.at[result.k].last[1].support for result in found.results.values()]
    kept, gained, lost, _ = (sum(map(len, problems)) for problems in zip(*last, strict=True))
    (result, *_) = found.results.values()
    ks = sorted({result.k for result in found.results.values()})
    within = f"k = {ks[0]}" if len(ks) == 1 else f"k = {ks[0]} to {ks[-1]}"
    return (
        f"{label(result.at[result.k].last[0])} keeps {kept} of the {kept + lost} problems that {found.first} solves "
        f"within {within}, and gains {gained}"
    )


def _draw_panel(axes: Axes, panel: Panel, lines: Mapping[str, Mapping[int, Point]], width: float) -> None:
    style.set_title(axes, panel.title, width)
    axes.set_ylabel(panel.unit)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    for index, points in enumerate(lines.values()):
        values = {place: value for place, point in points.items() if (value := panel.value(point))}
        line = style.for_density(style.line_style(0, index, 1), len(values))
        means, lows, highs = ([getattr(value, end) for value in values.values()] for end in ("mean", "low", "high"))
        if len(values) == 1:  # a band of one place has no width
            axes.vlines([*values], lows, highs, color=line["color"], alpha=style.BAND_ALPHA, linewidth=4)
        axes.fill_between([*values], lows, highs, color=line["color"], alpha=style.BAND_ALPHA, linewidth=0)
        axes.plot([*values], means, **line)
    if panel.title.startswith("Net"):
        axes.axhline(0, color=style.MARK_COLOUR, linewidth=0.7, zorder=1.5, gid="baseline")
