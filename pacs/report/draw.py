"""A panel's data on an axes: over the training step or what is added up over it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pacs.report import style
from pacs.report.findings import amount, number
from pacs.report.panels import Curve, Panel
from pacs.report.run_groups import Band, Group

#: Where more resets than this would hide the curves, each is a tick at the bottom of the panel instead.
MAX_FULL_RESETS = 40
#: Two decades between the smallest and the largest value ask for a logarithmic axis.
LOG_FROM_RATIO = 100.0
#: Seconds this many times above the 95th percentile (a first step, a checkpoint) are cut off, and said so.
#: Of fewer than 20 points the second largest stands for the percentile.
OUTLIER_RATIO = 3.0
#: Of fewer none is an outlier.
LEAST_POINTS = 4
#: A part of a total that has less than this share of it goes into what is left.
SMALLEST_PART = 0.005


def draw_over_steps(
    axes: Axes, panel: Panel, groups: Sequence[Group], *, width: float, ends: tuple[float, float]
) -> None:
    """Lines, or the areas of a stack, under a title that is there already.

    Args:
        axes: what is drawn on.
        panel: of kind `lines` or `stack`.
        groups: a stack is that of one; of several its total is drawn.
        width: the room for a legend, in inches.
        ends: of what the horizontal axis holds.
    """
    axis = groups[0].axis
    axes.set_xlabel(axis.label)
    axes.set_ylabel(panel.unit)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if axis.metric:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: amount(place)))
    if panel.kind == "stack" and len(groups) == 1:
        _draw_stack(axes, panel, groups[0], width)
    else:
        _draw_lines(axes, panel, [Curve(panel.total)] if panel.kind == "stack" else panel.curves, groups, width)
    margin = max(0.02 * (ends[1] - ends[0]), 0.5)
    axes.set_xlim(ends[0] - margin, ends[1] + margin)
    _mark_resets(axes, groups)


def _draw_lines(axes: Axes, panel: Panel, curves: Sequence[Curve], groups: Sequence[Group], width: float) -> None:
    drawn = [curve for curve in curves if any(_band(group, curve).steps for group in groups)]
    values: list[float] = []
    for which, group in enumerate(groups):
        for index, curve in enumerate(drawn):
            band = _band(group, curve)
            if not band.steps:
                continue
            line = style.line_style(which, index, len(groups))
            _draw_band(axes, group, curve, band, line["color"])
            axes.plot(band.places, band.mean, **style.for_density(line, len(band.steps)))
            values += [*band.low, *band.high]
    _shape_axis(axes, panel, values)
    if len(curves) > 1:
        styles = [style.line_style(0, index, len(groups)) for index in range(len(drawn))]
        neutral = {"color": style.MARK_COLOUR, "marker": ""} if len(groups) > 1 else {}
        handles = [Line2D([], [], **{**line, **neutral}) for line in styles]
        style.legend_above(axes, handles, [curve.label for curve in drawn], width)


def _draw_band(axes: Axes, group: Group, curve: Curve, band: Band, colour: str) -> None:
    """What the curve has around it, else the range of the group's runs."""
    steps, low, high = band.steps, band.low, band.high
    if curve.spread:
        below, above = (dict(zip(*group.band(key)[:2], strict=True)) for key in curve.spread)
        steps = tuple(step for step in band.steps if step in below and step in above)
        low, high = (tuple(edge[step] for step in steps) for edge in (below, above))
    if curve.spread or len(group.runs) > 1:
        places = dict(zip(band.steps, band.places, strict=True))
        axes.fill_between(
            [places[step] for step in steps], low, high, color=colour, alpha=style.BAND_ALPHA, linewidth=0
        )


def _band(group: Group, curve: Curve) -> Band:
    return group.band(curve.key, *curve.also)


def _shape_axis(axes: Axes, panel: Panel, values: Sequence[float]) -> None:
    if panel.baseline is not None:
        axes.axhline(panel.baseline, color=style.MARK_COLOUR, linewidth=0.7, zorder=1.5, gid="baseline")
    if panel.may_be_log and min(values) > 0 and max(values) / min(values) >= LOG_FROM_RATIO:
        axes.set_yscale("log")
    if panel.is_share:
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -0.02), min(high, 1.02))
    if panel.kind == "stack":
        axes.set_ylim(bottom=0)
        _cut_outliers(axes, values)


def _draw_stack(axes: Axes, panel: Panel, group: Group, width: float) -> None:
    """The curves as areas on each other, and what they leave of the total on top of them."""
    parts = {curve.label: dict(zip(*group.band(curve.key)[:2], strict=True)) for curve in panel.curves}
    total = dict(zip(*group.band(panel.total)[:2], strict=True)) if panel.total else {}
    least = SMALLEST_PART * sum(total.values())
    parts = {label: part for label, part in parts.items() if sum(part.values()) > least}
    steps = sorted(total) if total else sorted({step for part in parts.values() for step in part})
    if panel.total and not parts:
        _draw_lines(axes, panel, [Curve(panel.total)], [group], width)
        return
    layers = {label: [part.get(step, 0.0) for step in steps] for label, part in parts.items()}
    names = [curve.label for curve in panel.curves]  # a part has the same colour in every run
    colours = {label: style.COLOURS[names.index(label) % len(style.COLOURS)] for label in layers}
    if total:
        known = [sum(column) for column in zip(*layers.values(), strict=True)]
        layers["other"] = [max(0.0, total[step] - part) for step, part in zip(steps, known, strict=True)]
        colours["other"] = style.REST_COLOUR
    edges = _edges(group, steps)
    stacked = [[value for value in layer for _ in range(2)] for layer in layers.values()]  # at both edges of a step
    areas = axes.stackplot(edges, stacked, colors=[colours[label] for label in layers], linewidth=0)
    axes.set_ylim(0, 1 if panel.is_share else None)
    if not panel.is_share:
        _cut_outliers(axes, [sum(column) for column in zip(*layers.values(), strict=True)])
    style.legend_above(axes, areas, list(layers), width)


def _edges(group: Group, steps: Sequence[int]) -> list[float]:
    """The edges of each step, so that a single one can be seen: half way to the next, or all that it adds."""
    if group.axis.metric:
        before = dict(zip(group.places, [0.0, *group.places.values()], strict=False))
        return [edge for step in steps for edge in (before[step], group.places[step])]
    half = min((after - before for before, after in pairwise(steps)), default=1) / 2
    return [edge for step in steps for edge in (step - half, step + half)]


def _cut_outliers(axes: Axes, values: Sequence[float]) -> None:
    if len(values) < LEAST_POINTS:
        return
    usual = sorted(values)[min(math.ceil(0.95 * len(values)), len(values) - 1) - 1]
    if max(values) > OUTLIER_RATIO * usual:
        axes.set_ylim(0, 1.3 * usual)
        axes.set_ylabel(f"{axes.get_ylabel()} (cut off: up to {number(max(values))})")


def _mark_resets(axes: Axes, groups: Sequence[Group]) -> None:
    full = sum(len(group.resets) for group in groups) <= MAX_FULL_RESETS
    height, dash = (1.0, style.RESET_DASH) if full else (0.03, "-")
    for index, group in enumerate(groups):
        if group.resets:
            line = reset_style(index, len(groups)) | {"linestyle": dash, "zorder": 1.4, "gid": "reset"}
            places = [group.places[step] for step in group.resets]
            axes.vlines(places, 0, height, transform=axes.get_xaxis_transform(), **line)


def reset_style(group: int, groups: int) -> dict[str, Any]:
    """How a group's resets are drawn, but for their dash."""
    colour = style.COLOURS[group % len(style.COLOURS)] if groups > 1 else style.RESET_COLOUR
    return {"color": colour, "linewidth": 0.6, "alpha": 0.7}
