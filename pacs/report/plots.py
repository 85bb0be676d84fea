"""One figure for one run or several laid over each other: small multiples over the training step.

What is drawn is data: a `Panel` in `PANELS`. A panel without data in any run is left out. Within a single
run colour tells the curves of a panel apart; with several, colour is the run and the line's dash is the
curve. The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pacs.report.read import Run, RunError, Series

RESET = "pacs/reference/reset_count"
"""1 in the steps after which the reference was replaced by the policy."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
REST_COLOUR = "#BBBBBB"
RESET_COLOUR = "#666666"
RESET_DASH = (0, (5, 3))
DASHES = ("-", "--", ":", "-.", (0, (1, 4)), (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("", "o", "s", "^", "D", "v")

COLUMNS = 3
PANEL_SIZE_INCHES = (3.3, 2.55)
PNG_DOTS_PER_INCH = 200
SPARSE_POINTS = 40
"""A curve of at most this many points shows each of them."""
DENSE_POINTS = 150
"""A curve of more points than this is drawn thinner."""
LEGEND_CHARS = 44
"""What a row of a panel's legend holds, the room of each curve's mark included."""
LEGEND_MARK_CHARS = 6
LEGEND_ROW_POINTS = 10.5
MAX_FULL_RESETS = 40
"""Where more resets than this would hide the curves, each is a tick at the bottom of the panel instead."""
LOG_FROM_RATIO = 100.0
"""Two decades between the smallest and the largest value ask for a logarithmic axis."""
OUTLIER_RATIO = 3.0
"""Seconds this many times above the 95th percentile (a first step, a checkpoint) are cut off, and said so."""
NAME_CHARS = 40
TOTAL = "total"

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same figure on every machine
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "legend.borderpad": 0.0,
    "legend.borderaxespad": 0.3,
    "legend.labelspacing": 0.25,
}


@dataclass(frozen=True)
class Curve:
    """One metric of a panel, or with a glob every metric that matches it."""

    key: str
    label: str = ""
    """What the legend calls it; empty: a glob's matches are named after their key."""


@dataclass(frozen=True)
class Panel:
    """One of the small multiples."""

    title: str
    unit: str
    curves: tuple[Curve, ...]
    is_share: bool = False
    """Values lie between 0 and 1, and the axis does not go beyond."""
    baseline: float | None = None
    """A value worth a thin horizontal line."""
    may_be_log: bool = False
    """A logarithmic axis where the values span decades."""
    stack_to: str = ""
    """Draw the curves as areas that add up to this metric; of several runs only this metric is drawn."""


PANELS = (
    Panel(
        "Right answers in training",
        "share of responses",
        (Curve("critic/score/mean", "pass rate"),),
        is_share=True,
    ),
    Panel(
        "Right answers on held-out problems",
        "share of responses",
        (Curve("val-core/*/mean@*"),),
        is_share=True,
    ),
    Panel("Entropy of the policy", "nats per token", (Curve("actor/entropy", "entropy"),)),
    Panel("Length of a response", "mean, tokens", (Curve("response_length/mean", "response"),)),
    Panel(
        "Score ψ by verdict",
        "mean ψ, β × nats",
        (Curve("pacs/score/correct_mean", "right"), Curve("pacs/score/wrong_mean", "wrong")),
        baseline=0.0,
    ),
    Panel(
        "Implicit critic: ψ against R",
        "mean over responses",
        (
            Curve("pacs/critic/accuracy_fraction", "accuracy"),
            Curve("pacs/residual_mean", "residual |σ(ψ) − R|"),
            Curve("pacs/critic/calibration_error_mean", "ECE"),
        ),
        is_share=True,
    ),
    Panel(
        "Distance from the reference",
        "mean log π/π_ref, nats",
        (Curve("pacs/log_ratio/sequence_mean", "log-ratio"),),
        baseline=0.0,
    ),
    Panel(
        "What the update has to work with",
        "share",
        (
            Curve("pacs/groups/mixed_fraction", "mixed groups"),
            Curve("pacs/saturated_fraction", "saturated rows"),
            Curve("pacs/gradient/clipped_fraction", "clipped updates"),
        ),
        is_share=True,
    ),
    Panel(
        "Gap between vLLM and trainer",
        "mean |Δ log π|, nats per token",
        (Curve("pacs/rollout_gap/per_token", "gap"),),
        may_be_log=True,
    ),
    Panel(
        "Gradient norm before clipping",
        "L2 norm",
        (Curve("actor/grad_norm", "gradient"),),
        may_be_log=True,
    ),
    Panel(
        "Time of a training step",
        "seconds",
        (
            Curve("timing_s/gen", "rollouts"),
            Curve("timing_s/old_log_prob", "old log π"),
            Curve("timing_s/ref", "ref log π"),
            Curve("timing_s/update_actor", "update"),
            Curve("timing_s/update_weights", "transfer"),
            Curve("timing_s/values", "critic values"),
            Curve("timing_s/update_critic", "critic update"),
        ),
        stack_to="timing_s/step",
    ),
)


def overview(runs: Sequence[Run], panels: Sequence[Panel] = PANELS) -> Figure:
    """The figure: the panels that have data, in their order, on a common axis of steps."""
    shown = [panel for panel in panels if any(_curves(panel, runs))]
    if not shown:
        raise RunError(f"nothing to draw: {runs[0].path} has none of the metrics of any panel")
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    with house_style():
        width, height = PANEL_SIZE_INCHES
        figure = Figure(figsize=(columns * width, rows * height + 0.5), layout="constrained")
        FigureCanvasAgg(figure)
        for index, panel in enumerate(shown, start=1):
            _draw(figure.add_subplot(rows, columns, index), panel, runs)
        _label(figure, runs)
    return figure


def render_png(figure: Figure) -> bytes:
    """The figure as PNG; the same runs give the same bytes."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", dpi=PNG_DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()


def panel_titles(figure: Figure) -> list[str]:
    """The titles of the panels that the figure shows."""
    return [axes.get_title(loc="left") for axes in figure.axes]


@contextmanager
def house_style() -> Iterator[None]:
    """Our settings over matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def _curves(panel: Panel, runs: Sequence[Run]) -> list[dict[str, Series]]:
    """What the panel shows of each run: label -> points."""
    if panel.stack_to and not _is_stacked(panel, runs):
        named = {panel.stack_to: TOTAL}
    else:
        named = {}
        for curve in panel.curves:
            keys = sorted({key for run in runs for key in run.keys(curve.key)})
            named |= {key: curve.label or label for key, label in _labels(keys).items()}
    by_run = [{label: run.series(key) for key, label in named.items()} for run in runs]
    return [{label: series for label, series in found.items() if series.steps} for found in by_run]


def _is_stacked(panel: Panel, runs: Sequence[Run]) -> bool:
    """A single run that has both the total and a part of it."""
    return (
        len(runs) == 1
        and bool(panel.stack_to)
        and bool(runs[0].series(panel.stack_to).steps)
        and any(runs[0].keys(curve.key) for curve in panel.curves)
    )


def _labels(keys: Sequence[str]) -> dict[str, str]:
    """Short names for val-core/SOURCE/VARIABLE/STATISTIC: without the variable where that is clear."""
    short = {}
    for key in keys:
        parts = key.split("/")
        short[key] = f"{'/'.join(parts[1:-2])} {parts[-1]}" if len(parts) > 3 else key
    names = list(short.values())
    return {key: name if names.count(name) == 1 else key for key, name in short.items()}


def _draw(axes: Axes, panel: Panel, runs: Sequence[Run]) -> None:
    axes.set_title(panel.title)
    axes.set_xlabel("training step")
    axes.set_ylabel(panel.unit)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    if _is_stacked(panel, runs):
        _draw_stack(axes, panel, runs[0])
    else:
        _draw_curves(axes, panel, runs)
    axes.set_xlim(*_step_limits(runs))
    _mark_resets(axes, runs)


def _draw_curves(axes: Axes, panel: Panel, runs: Sequence[Run]) -> None:
    by_run = _curves(panel, runs)
    labels = list(dict.fromkeys(label for curves in by_run for label in curves))
    for run_index, curves in enumerate(by_run):
        for label, series in curves.items():
            style = _line_style(run_index, labels.index(label), len(runs))
            axes.plot(series.steps, series.values, **_for_density(style, len(series.steps)))
    values = [value for curves in by_run for series in curves.values() for value in series.values]
    if panel.baseline is not None:
        axes.axhline(panel.baseline, color="#444444", linewidth=0.7, zorder=1.5, gid="baseline")
    if panel.may_be_log and min(values) > 0 and max(values) / min(values) >= LOG_FROM_RATIO:
        axes.set_yscale("log")
    if panel.is_share:
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, -0.02), min(high, 1.02))
    if panel.stack_to:
        axes.set_ylim(bottom=0)
        _cut_outliers(axes, values)
    if not panel.stack_to and (len(panel.curves) > 1 or "*" in panel.curves[0].key):
        styles = [_line_style(0, index, len(runs)) for index in range(len(labels))]
        neutral = {"color": "#444444", "marker": ""} if len(runs) > 1 else {}
        _legend_above(axes, [Line2D([], [], **{**style, **neutral}) for style in styles], labels)


def _draw_stack(axes: Axes, panel: Panel, run: Run) -> None:
    """The curves as areas on each other, and what they leave of the total on top of them."""
    total = run.series(panel.stack_to)
    (curves,) = _curves(panel, [run])
    layers = [
        [by_step.get(step, 0.0) for step in total.steps]
        for by_step in (dict(zip(*series, strict=True)) for series in curves.values())
    ]
    known = [sum(column) for column in zip(*layers, strict=True)]
    rest = [max(0.0, whole - part) for whole, part in zip(total.values, known, strict=True)]
    order = [curve.label for curve in panel.curves]  # a phase has the same colour in every run
    colours = [COLOURS[order.index(label) % len(COLOURS)] for label in curves]
    areas = axes.stackplot(total.steps, *layers, rest, colors=[*colours, REST_COLOUR], step="mid", edgecolor="none")
    axes.set_ylim(bottom=0)
    _cut_outliers(axes, [part + other for part, other in zip(known, rest, strict=True)])
    _legend_above(axes, areas, [*curves, "other"])


def _line_style(run_index: int, curve_index: int, run_count: int) -> dict[str, Any]:
    coloured, dashed = (run_index, curve_index) if run_count > 1 else (curve_index, 0)
    return {
        "color": COLOURS[coloured % len(COLOURS)],
        "marker": MARKERS[coloured // len(COLOURS) % len(MARKERS)],
        "linestyle": DASHES[dashed % len(DASHES)],
    }


def _for_density(style: dict[str, Any], points: int) -> dict[str, Any]:
    """Few points are each marked, many are drawn thin."""
    if points <= SPARSE_POINTS:
        return {**style, "marker": style["marker"] or "o"}
    return {**style, "markevery": 0.1, "linewidth": 0.9 if points > DENSE_POINTS else 1.5}


def _cut_outliers(axes: Axes, values: Sequence[float]) -> None:
    usual = sorted(values)[math.ceil(0.95 * len(values)) - 1]
    if max(values) > OUTLIER_RATIO * usual:
        axes.set_ylim(0, 1.3 * usual)
        axes.set_ylabel(f"{axes.get_ylabel()} (cut off: up to {max(values):.0f})")


def _step_limits(runs: Sequence[Run]) -> tuple[float, float]:
    first = min(step for run in runs for step in run.steps)
    last = max(step for run in runs for step in run.steps)
    margin = max(0.02 * (last - first), 0.5)
    return first - margin, last + margin


def _mark_resets(axes: Axes, runs: Sequence[Run]) -> None:
    marks = [(step, index) for index, run in enumerate(runs) for step in _resets(run)]
    full = len(marks) <= MAX_FULL_RESETS
    shape: dict[str, Any] = {"ymax": 1.0, "linestyle": RESET_DASH} if full else {"ymax": 0.03, "linestyle": "-"}
    for step, index in marks:
        axes.axvline(step, zorder=1.4, gid="reset", **shape, **_reset_style(index, len(runs)))


def _resets(run: Run) -> list[int]:
    return [step for step, value in zip(*run.series(RESET), strict=True) if value > 0]


def _reset_style(run_index: int, run_count: int) -> dict[str, Any]:
    colour = COLOURS[run_index % len(COLOURS)] if run_count > 1 else RESET_COLOUR
    return {"color": colour, "linewidth": 0.6, "alpha": 0.7}


def _label(figure: Figure, runs: Sequence[Run]) -> None:
    """A legend below the panels for what they have in common: the runs, and the resets."""
    handles = []
    labels = []
    if len(runs) > 1:
        for index, run in enumerate(runs):
            handles.append(Line2D([], [], **_line_style(index, 0, len(runs))))
            labels.append(_shorten(run.name))
    else:
        figure.suptitle(_shorten(runs[0].name), x=0.01, ha="left", fontsize=11, parse_math=False)
    if any(_resets(run) for run in runs):
        handles.append(Line2D([], [], linestyle=RESET_DASH, **_reset_style(0, 1)))
        labels.append("vertical line: after this step the reference was reset to the policy")
    if handles:
        _legend(figure, handles, labels, loc="outside lower center", ncols=min(len(handles), 4))


def _legend_above(axes: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Between title and panel, where it hides nothing."""
    columns = next(n for n in range(len(labels), 0, -1) if n == 1 or _legend_width(labels, n) <= LEGEND_CHARS)
    rows = math.ceil(len(labels) / columns)
    axes.set_title(axes.get_title(loc="left"), pad=5 + rows * LEGEND_ROW_POINTS)
    _legend(axes, handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)


def _legend_width(labels: Sequence[str], columns: int) -> int:
    """In characters; matplotlib fills a legend column by column, the first ones taking what is left over."""
    widths = [max(map(len, part)) for part in _split(labels, columns)]
    return sum(widths) + LEGEND_MARK_CHARS * columns


def _split(labels: Sequence[str], columns: int) -> list[Sequence[str]]:
    size, longer = divmod(len(labels), columns)
    ends = [index * size + min(index, longer) for index in range(columns + 1)]
    return [labels[start:end] for start, end in pairwise(ends)]


def _legend(parent: Any, handles: Sequence[Any], labels: Sequence[str], **options: Any) -> None:
    legend = parent.legend(handles, labels, **options)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a name with a dollar sign is a name


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_CHARS else "…" + name[1 - NAME_CHARS :]
