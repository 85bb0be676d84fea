"""The reliability diagram."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pacs.report.calibration import Bin, pooled, steps_text, thirds
from pacs.report.groups import Group
from pacs.report.style import COLOURS, DASHES, MARK_COLOUR, legend_above, line_style

#: Square points, of a bin that holds all rows.
LARGEST_POINT = 90.0
SMALLEST_POINT = 4.0


def draw_calibration(axes: Axes, groups: Sequence[Group], unit: str, *, width: float) -> None:
    """Bins of sigma(psi): of one group in the first and in the last third of its steps, of several in the last.

    Args:
        axes: what is drawn on, under a title that is there already.
        groups: some have bins.
        unit: of the vertical axis.
        width: the room for a legend, in inches.
    """
    axes.set_xlabel("σ(ψ), mean of the bin")
    axes.set_ylabel(unit)
    axes.plot([0, 1], [0, 1], color=MARK_COLOUR, linewidth=0.7, zorder=1.5, gid="baseline")
    handles, labels = [Line2D([], [], color=MARK_COLOUR, linewidth=0.7)], ["calibrated"]
    for number, group in enumerate(groups):
        for index, span in enumerate(thirds(group) if len(groups) == 1 else thirds(group)[-1:]):
            colour = COLOURS[index] if len(groups) == 1 else line_style(number, 0, len(groups))["color"]
            dash = DASHES[index]
            _draw_bins(axes, pooled(group.runs, *span), colour, dash)
            if len(groups) == 1:
                handles.append(Line2D([], [], color=colour, linestyle=dash, marker="o"))
                labels.append(steps_text(*span))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    legend_above(axes, handles, labels, width)


def _draw_bins(axes: Axes, bins: Sequence[Bin], colour: str, dash: object) -> None:
    total = sum(row.rows for row in bins)
    places, heights = [row.probability for row in bins], [row.correct for row in bins]
    sizes = [max(SMALLEST_POINT, LARGEST_POINT * row.rows / total) for row in bins]
    axes.plot(places, heights, color=colour, linestyle=dash, linewidth=1.0)
    axes.scatter(places, heights, s=sizes, color=colour, zorder=3, clip_on=False)
