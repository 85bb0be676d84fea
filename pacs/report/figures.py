"""Figures of one group of runs or several laid over each other: one a panel, and the overview of all."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from pacs.base.errors import UserError
from pacs.report import style
from pacs.report.draw import draw_over_steps, reset_style
from pacs.report.findings import shorten
from pacs.report.panels import PANELS, Curve, Panel, as_scored, for_overview
from pacs.report.run_groups import Band, Group
from pacs.report.validation import Sources, glance, shared, smallest_and_largest, sources_of

OVERVIEW_COLUMNS = 3
OVERVIEW_PANEL_INCHES = (3.3, 2.6)
#: The width of a figure: that of a page's text, so that it is printed in its own size.
PAGE_INCHES = 6.5
FIGURE_COLUMNS = 3
FIGURE_ROW_INCHES = 2.9
#: Of its column, what an axes has beside its labels.
AXES_SHARE = 0.8
#: Of its row, what an axes has at least below a title and a legend of several lines.
LABEL_SHARE = 0.48
PNG_DOTS_PER_INCH = 200
#: A palette makes the file a third as large.
PNG_COLOURS = 256


@dataclass(frozen=True)
class Part:
    """One axes of a figure."""

    title: str
    panel: Panel
    groups: Sequence[Group]


def panels_of(groups: Sequence[Group], panels: Sequence[Panel] = PANELS) -> list[Panel]:
    """The panels that have data."""
    shown = [panel for panel in (as_scored(panel, groups) for panel in panels) if _has_data(panel, groups)]
    if not shown:
        apart = max(groups, key=lambda group: len(group.runs)).runs
        why = f"{groups[0].runs[0].path} has logged no number that a report draws: give a run that has trained a step"
        if len(apart) > 1:
            why = f"{apart[0].name} and {apart[-1].name} are runs of one experiment without a common step: give --each"
        raise UserError(f"nothing to draw: {why}")
    return shown


def title_of(panel: Panel, groups: Sequence[Group]) -> str:
    """What was found, or the quantity where the data say nothing of what would be told."""
    return panel.finding(groups) or panel.quantity


def overview(groups: Sequence[Group], panels: Sequence[Panel]) -> Figure:
    """All panels as small multiples on a common axis of steps.

    Args:
        groups: what is drawn.
        panels: as `panels_of` gives them.
    """
    shown = for_overview(panels, groups)
    parts = [Part(title_of(panel, groups), _at_a_glance(panel, groups), groups) for panel in shown]
    parts = [part for part in parts if len(groups) == 1 or part.panel.kind != "stack" or part.panel.total]
    name = _name(groups[0]) if len(groups) == 1 else ""
    return _figure(parts, groups, columns=OVERVIEW_COLUMNS, panel_inches=OVERVIEW_PANEL_INCHES, title=name)


def figure_of(panel: Panel, groups: Sequence[Group]) -> Figure:
    """One panel with all it has: data sources beside each other, and groups of which each fills an axes."""
    title = title_of(panel, groups)
    if panel.kind == "validation":
        parts = [
            Part(source if len(keys) > 1 else f"{source} {next(iter(keys))}", _of_source(panel, keys, groups), groups)
            for source, keys in _sources(panel, groups).items()
        ]
    elif panel.beside and len(groups) > 1:
        parts = [Part(_name(group), panel, [group]) for group in groups if _has_data(panel, [group])]
    else:
        parts = [Part("", panel, groups)]
    if len(parts) == 1 and parts[0].groups is groups:
        parts, title = [replace(parts[0], title=title)], ""
    columns = min(FIGURE_COLUMNS, len(parts))
    return _figure(parts, groups, columns=columns, panel_inches=(PAGE_INCHES / columns, FIGURE_ROW_INCHES), title=title)


def _has_data(panel: Panel, groups: Sequence[Group]) -> bool:
    match panel.kind:
        case "validation":
            return bool(_sources(panel, groups))
        case "stack" if panel.total:
            return any(group.band(panel.total).steps for group in groups)
    return any(group.band(curve.key).steps for group in groups for curve in panel.curves)


def _sources(panel: Panel, groups: Sequence[Group]) -> Sources:
    return sources_of(groups, panel.curves[0].key)


def _of_source(panel: Panel, keys: Mapping[str, str], groups: Sequence[Group]) -> Panel:
    """A source's statistics as lines; of several groups, which have the colours, its first and its last."""
    shown = list(keys) if len(groups) == 1 else smallest_and_largest(keys)
    return replace(panel, kind="lines", curves=tuple(Curve(keys[statistic], statistic) for statistic in shown))


def _at_a_glance(panel: Panel, groups: Sequence[Group]) -> Panel:
    if panel.beside and len(groups) > 1:
        return replace(panel, curves=tuple(replace(curve, spread=None) for curve in panel.curves))
    if panel.kind != "validation":
        return panel
    shown = glance(shared(_sources(panel, groups), groups), several_groups=len(groups) > 1)
    curves = tuple(Curve(key, label, also=tuple(also)) for label, (key, *also) in shown.items())
    return replace(panel, kind="lines", curves=curves)


def _figure(
    parts: Sequence[Part], groups: Sequence[Group], *, columns: int, panel_inches: tuple[float, float], title: str
) -> Figure:
    columns = min(columns, len(parts))
    rows = math.ceil(len(parts) / columns)
    width, height = panel_inches
    places = [place for group in groups for place in group.places.values()]
    with style.our_style():
        figure = Figure(figsize=(columns * width, rows * height + 0.5), dpi=PNG_DOTS_PER_INCH, layout="constrained")
        for index, part in enumerate(parts, start=1):
            axes = figure.add_subplot(rows, columns, index)
            room = AXES_SHARE * width
            style.set_title(axes, part.title, room)
            draw_over_steps(axes, part.panel, part.groups, width=room, ends=(min(places), max(places)))
            style.wrap_label(axes, LABEL_SHARE * height)
        if parts[0].groups is not groups:
            _level(figure.axes)
        if title:
            style.set_figure_title(figure, title)
        _label(figure, parts, groups)
    return figure


def _level(figure_axes: Sequence[Axes]) -> None:
    """The same vertical axis for what is to be compared."""
    limits = [axes.get_ylim() for axes in figure_axes]
    for axes in figure_axes:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _name(group: Group) -> str:
    return shorten(group.label) + (f" ({len(group.runs)} runs)" if len(group.runs) > 1 else "")


def _label(figure: Figure, parts: Sequence[Part], groups: Sequence[Group]) -> None:
    """A legend below the axes for what they have in common: the groups, the bands, the resets."""
    laid_over = any(len(part.groups) > 1 for part in parts)
    said: list[tuple[Any, str]] = []
    if laid_over:
        said = [(Line2D([], [], **style.line_style(i, 0, len(groups))), _name(group)) for i, group in enumerate(groups)]
    most = max(len(group.runs) for group in groups)
    bands = [
        (group, curve, group.band(curve.key, *curve.also))
        for part in parts
        if part.panel.kind == "lines" and not part.panel.beside
        for curve in part.panel.curves
        for group in part.groups
    ]
    nothing = Line2D([], [], linestyle="")
    if most > 1 and bands:
        drawn = max(band.runs for *_, band in bands)
        of = "run" if laid_over else f"of {drawn} runs"
        said.append((style.band_mark(), f"line: mean, band: lowest to highest {of}"))
        if any(_goes_on(group, curve, band) for group, curve, band in bands):
            said.append((nothing, "lines end with the shortest run"))
    elif most > 1 and len(groups) == 1:
        said.append((nothing, f"means over {most} runs"))
    if any(curve.spread for part in parts for curve in part.panel.curves):
        said.append((style.band_mark(), "band of scores: the middle 80%"))
    if any(group.resets for group in groups):
        line = Line2D([], [], linestyle=style.RESET_DASH, **reset_style(0, 1))
        said.append((line, "after this step the reference was reset to the policy"))
    style.legend_below(figure, said)


def _goes_on(group: Group, curve: Curve, band: Band) -> bool:
    """Whether some run has values after the last step that all have."""
    last = max(band.steps, default=math.inf)
    return any(step > last for run in group.runs for step in run.series(curve.key)[0])


def render_png(figure: Figure) -> bytes:
    """The figure as PNG; the same runs give the same bytes."""
    canvas = FigureCanvasAgg(figure)
    with style.our_style():
        canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    palette = picture.quantize(PNG_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    png = io.BytesIO()
    palette.save(png, format="png", optimize=True, dpi=(PNG_DOTS_PER_INCH, PNG_DOTS_PER_INCH))
    return png.getvalue()
