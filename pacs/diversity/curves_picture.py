"""What a run gains and loses over its steps, drawn: shares of problems and the four metrics, each with its interval."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pacs.base.statistics import Estimate
from pacs.diversity.curves import Along, Curve, Point
from pacs.diversity.curves_document import ALL
from pacs.report import style
from pacs.report.figures import AXES_SHARE, PAGE_INCHES, PNG_DOTS_PER_INCH
from pacs.report.trends import shorten

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


def curves_of(results: Mapping[str, Along], together: Mapping[int, Curve]) -> dict[str, Curve]:
    """What is drawn, by its name: of one task a curve a k, of several one a task, by its largest k, and of all."""
    if len(results) == 1:
        (result,) = results.values()
        return {f"k = {k}": curve for k, curve in sorted(result.at.items(), reverse=True)}
    found = {f"{task}, k = {result.k}": result.at[result.k] for task, result in results.items()}
    return found | ({f"{ALL}, k = {max(together)}": together[max(together)]} if together else {})


def draw(run: str, results: Mapping[str, Along], together: Mapping[int, Curve]) -> Figure:
    """The figure: a panel a number, a curve a task (or a k), from the first checkpoint to the last.

    Args:
        run: its name.
        results: of each task.
        together: k -> all tasks as one; empty of one task.
    """
    curves = curves_of(results, together)
    width = PAGE_INCHES / COLUMNS
    with style.our_style():
        size = (PAGE_INCHES, ROWS * ROW_INCHES + 0.9)
        figure = Figure(figsize=size, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        for axes, panel in zip(figure.subplots(ROWS, COLUMNS).flat, PANELS, strict=True):
            _draw_panel(axes, panel, curves, AXES_SHARE * width)
        style.set_figure_title(figure, title_of(run, results))
        handles = [Line2D([], [], **style.line_style(0, index, 1)) for index in range(len(curves))]
        names = [shorten(name) for name in curves]
        said = list(zip(handles, names, strict=True)) if len(curves) > 1 else []
        style.legend_below(figure, [*said, (style.band_mark(), "95% interval: bootstrap over problems")])
    return figure


def title_of(run: str, results: Mapping[str, Along]) -> str:
    """What was found at the last step, of all tasks by their largest k."""
    last = [result.at[result.k].last[1].support for result in results.values()]
    kept, gained, lost, _ = (sum(map(len, problems)) for problems in zip(*last, strict=True))
    (result, *_) = results.values()
    step = max(result.at[result.k].points)
    ks = sorted({result.k for result in results.values()})
    within = f"k = {ks[0]}" if len(ks) == 1 else f"k = {ks[0]} to {ks[-1]}"
    return (
        f"{run}: at step {step} the policy keeps {kept} of the {kept + lost} problems that the initial policy solves "
        f"within {within}, and gains {gained}"
    )


def _draw_panel(axes: Axes, panel: Panel, curves: Mapping[str, Curve], width: float) -> None:
    style.set_title(axes, panel.title, width)
    axes.set_xlabel("step")
    axes.set_ylabel(panel.unit)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    for index, curve in enumerate(curves.values()):
        values = {step: value for step, point in curve.points.items() if (value := panel.value(point))}
        line = style.for_density(style.line_style(0, index, 1), len(values))
        means, lows, highs = ([getattr(value, end) for value in values.values()] for end in ("mean", "low", "high"))
        if len(values) == 1:  # a band of one step has no width
            axes.vlines([*values], lows, highs, color=line["color"], alpha=style.BAND_ALPHA, linewidth=4)
        axes.fill_between([*values], lows, highs, color=line["color"], alpha=style.BAND_ALPHA, linewidth=0)
        axes.plot([*values], means, **line)
    if panel.title.startswith("Net"):
        axes.axhline(0, color=style.MARK_COLOUR, linewidth=0.7, zorder=1.5, gid="baseline")
