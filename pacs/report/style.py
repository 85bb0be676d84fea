"""How our figures look: for paper and screen, and so that colour is never the only difference.

Within one group of runs colour and marker tell the curves of a panel apart; with several, colour is the group and the
line's dash the curve. The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from textwrap import fill
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
REST_COLOUR = "#BBBBBB"
MARK_COLOUR = "#444444"
RESET_COLOUR = "#666666"
RESET_DASH = (0, (5, 3))
DASHES = ("-", "--", ":", "-.", (0, (1, 4)), (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
BAND_ALPHA = 0.2

#: A curve of at most this many points shows each of them.
SPARSE_POINTS = 40
#: How many it shows otherwise.
MARKS = 8
#: A curve of more points than this is drawn thinner.
DENSE_POINTS = 150
TITLE_CHARS_PER_INCH = 12.0
LABEL_CHARS_PER_INCH = 15.5
LEGEND_CHARS_PER_INCH = 16.5
LEGEND_MARK_CHARS = 6
LEGEND_ROW_POINTS = 10.5

SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same figure on every machine
    "font.size": 8.5,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MARK_COLOUR,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "figure.titlesize": 9.5,
    "figure.titleweight": "bold",
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "legend.borderpad": 0.0,
    "legend.borderaxespad": 0.3,
    "legend.labelspacing": 0.25,
}


@contextmanager
def our_style() -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def line_style(group: int, curve: int, groups: int) -> dict[str, Any]:
    """How a curve of a group is drawn; both are numbers from 0."""
    colour, dash, marker = (group, curve, group // len(COLOURS)) if groups > 1 else (curve, 0, curve)
    return {
        "color": COLOURS[colour % len(COLOURS)],
        "linestyle": DASHES[dash % len(DASHES)],
        "marker": MARKERS[marker % len(MARKERS)],
    }


def for_density(style: dict[str, Any], points: int) -> dict[str, Any]:
    """Few points are each marked; many are drawn thin, and marked now and then where the marker tells curves apart."""
    if points <= SPARSE_POINTS:
        return style
    marker = "" if style["marker"] == MARKERS[0] else style["marker"]
    width = 0.9 if points > DENSE_POINTS else 1.5
    return {**style, "marker": marker, "markevery": points // MARKS, "linewidth": width}


def set_title(axes: Axes, text: str, width_inches: float) -> None:
    """A title in as many lines as the axes' width asks for."""
    axes.set_title(_wrap(text, width_inches), parse_math=False)  # a dollar sign in a name is one


def wrap_label(axes: Axes, height_inches: float) -> None:
    """The vertical axis' label in as many lines as its height asks for, so that it stays beside its own axes."""
    axes.set_ylabel(fill(axes.get_ylabel(), int(height_inches * LABEL_CHARS_PER_INCH)))


def set_figure_title(figure: Figure, text: str) -> None:
    """A title over all axes."""
    figure.suptitle(_wrap(text, figure.get_figwidth()), x=0.01, ha="left", parse_math=False)


def legend_above(axes: Axes, handles: Sequence[Any], labels: Sequence[str], width_inches: float) -> None:
    """Between title and panel, where it hides nothing."""
    columns = _columns(labels, width_inches)
    rows = math.ceil(len(labels) / columns)
    axes.set_title(axes.get_title(loc="left"), pad=5 + rows * LEGEND_ROW_POINTS, parse_math=False)
    _legend(axes, handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)


def legend_below(figure: Figure, said: Sequence[tuple[Any, str]]) -> None:
    """Under all axes: each mark and what is said of it; none of nothing."""
    if said:
        handles, labels = zip(*said, strict=True)
        columns = _columns(labels, figure.get_figwidth())
        _legend(figure, handles, labels, loc="outside lower center", ncols=columns)


def band_mark() -> Patch:
    """How a band is shown in a legend."""
    return Patch(color=MARK_COLOUR, alpha=BAND_ALPHA, linewidth=0)


def _wrap(text: str, width_inches: float) -> str:
    """In lines of that width; an arrow stays with what it leads from and to."""
    unbroken = text.replace(" → ", "\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}")
    return fill(unbroken, int(width_inches * TITLE_CHARS_PER_INCH))


def _legend(parent: Any, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> None:
    for text in parent.legend(handles, labels, **options).get_texts():
        text.set_parse_math(False)


def _columns(labels: Sequence[str], width_inches: float) -> int:
    """As many as there is room for."""
    room = width_inches * LEGEND_CHARS_PER_INCH
    return next(n for n in range(len(labels), 0, -1) if n == 1 or _legend_width(labels, n) <= room)


def _legend_width(labels: Sequence[str], columns: int) -> int:
    """In characters; matplotlib fills a legend column by column, the first ones taking what is left over."""
    widths = [max(map(len, part)) for part in _split(labels, columns)]
    return sum(widths) + LEGEND_MARK_CHARS * columns


def _split(labels: Sequence[str], columns: int) -> list[Sequence[str]]:
    size, longer = divmod(len(labels), columns)
    ends = [index * size + min(index, longer) for index in range(columns + 1)]
    return [labels[start:end] for start, end in pairwise(ends)]
