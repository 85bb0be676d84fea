"""What a sweep ends in, from its results alone: the table, the plot, and one page of both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pacs.base.errors import UserError
from pacs.base.tables import Table
from pacs.report import figures, style, write_together
from pacs.report.draw import draw_over_steps
from pacs.report.findings import Interval, rank, share, shorten
from pacs.report.page import Picture, build_page
from pacs.report.panels import PANELS, as_scored
from pacs.report.run_groups import Group
from pacs.runs.read import Run
from pacs.sweeps.results import read
from pacs.sweeps.table import measure_table, missing_table, reading, results_page
from pacs.verl_keys.metrics import SCORE

(PASS_RATE,) = (panel for panel in PANELS if panel.name == "pass_rate")
WIDTH_INCHES = 9.0
LEAST_HEIGHT_INCHES, ROW_INCHES = 3.2, 0.28
MARK_SPACING = 0.6


def groups_of(results: Mapping[str, Any]) -> list[Group]:
    """The runs of each setting that have logged steps; the finished ones alone where there are any."""
    runs = {run["name"]: _as_run(run) for run in results["runs"] if any(run["curves"].values())}
    groups = []
    for setting in results["settings"]:
        names = [name for name in setting["finished"] or setting["runs"] if name in runs]
        if names:
            groups.append(Group(setting["label"], tuple(runs[name] for name in names)))
    return groups


def draw(results: Mapping[str, Any], groups: Sequence[Group]) -> tuple[bytes, str]:
    """The picture, and what it says.

    Args:
        results: of a sweep.
        groups: of its runs, at least one.
    """
    measure = first_measure(results)
    ends = {
        setting["label"]: setting["measures"][measure]
        for setting in results["settings"]
        if measure in setting["measures"]
    }
    found = finding(measure, ends) if ends else _nothing_to_compare(results)
    title = f"{results['sweep']}, {results['recipe']}: {found}"
    panel = as_scored(PASS_RATE, groups)
    left = figures.title_of(panel, groups) if any(group.band(panel.curves[0].key).steps for group in groups) else ""
    height = max(LEAST_HEIGHT_INCHES, 1.5 + ROW_INCHES * len(groups))
    with style.our_style():
        figure = Figure(figsize=(WIDTH_INCHES, height), dpi=figures.PNG_DOTS_PER_INCH, layout="constrained")
        axes = figure.subplots(1, 2 if ends else 1, squeeze=False)[0]
        style.set_title(axes[0], left or "No step is done yet", 0.45 * WIDTH_INCHES)
        if left:
            places = [place for group in groups for place in group.places.values()]
            ends_of_axis = (min(places), max(places))
            draw_over_steps(axes[0], panel, groups, width=0.4 * WIDTH_INCHES, ends=ends_of_axis)
        if ends:
            # A setting may be evaluated and have logged nothing: it comes behind those that have a curve.
            _draw_ends(axes[1], measure, ends, list(dict.fromkeys([*(group.label for group in groups), *ends])))
        style.set_figure_title(figure, title)
        _legend(figure, groups, ends)
    return figures.render_png(figure), "; ".join(filter(None, (title, left)))


def _nothing_to_compare(results: Mapping[str, Any]) -> str:
    finished = any(setting["finished"] for setting in results["settings"])
    return "no share of right answers to compare" if finished else "no run is finished yet"


def first_measure(results: Mapping[str, Any]) -> str:
    """The measure that most settings have, of several the one that matters most; empty where no run is finished."""
    count = Counter(name for setting in results["settings"] for name in setting["measures"])
    return max(count, key=count.__getitem__, default="")


def finding(measure: str, ends: Mapping[str, Mapping[str, Any]]) -> str:
    """Which setting is highest and which lowest, as far as the intervals allow that to be said.

    Args:
        measure: what is compared.
        ends: setting -> its mean and interval.
    """
    means = {label: value["mean"] for label, value in ends.items()}
    if len(ends) == 1:
        return f"{measure} {share(*means.values())}"
    if any(value["low"] is None for value in ends.values()):
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        without = sum(value["low"] is None for value in ends.values())
        remark = "one run each" if without == len(ends) else f"{without} of {len(ends)} without an interval"
        return f"{measure} from {share(means[low])} ({low}) to {share(means[high])} ({high}); {remark}"
    intervals = {label: Interval(value["low"], value["mean"], value["high"]) for label, value in ends.items()}
    return f"{measure}: {rank(intervals, '', share)}"


def _draw_ends(axes: Axes, measure: str, ends: Mapping[str, Mapping[str, Any]], labels: Sequence[str]) -> None:
    """A mark a setting, from above to below, with its interval."""
    for place, (label, value) in enumerate(ends.items()):
        line = style.line_style(labels.index(label), 0, len(labels))
        reach = None
        if value["low"] is not None:  # an interval by Student's t may go beyond what a share can be
            reach = [[value["mean"] - max(value["low"], 0.0)], [min(value["high"], 1.0) - value["mean"]]]
        mark = {"color": line["color"], "marker": line["marker"], "markersize": 5, "capsize": 3}
        axes.errorbar(value["mean"], place, xerr=reach, **mark)
    names = [f"{shorten(label)} ({value['n']})" for label, value in ends.items()]
    axes.set_yticks(range(len(ends)), names, parse_math=False)
    axes.set_ylim(len(ends) - 1 + MARK_SPACING, -MARK_SPACING)
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, -0.02), min(high, 1.02))
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("share of right answers")
    kinds = {value["interval"] for value in ends.values()} - {None}
    over = f"95% interval over {' or '.join(sorted(kinds))}" if kinds else "one run each"
    style.set_title(axes, f"{measure} of finished runs: {over}", 0.4 * WIDTH_INCHES)


def _legend(figure: Figure, groups: Sequence[Group], ends: Mapping[str, Any]) -> None:
    said: list[tuple[Any, str]] = []
    if len(groups) > 1 or not ends:
        lines = [style.line_style(index, 0, len(groups)) for index in range(len(groups))]
        said = [(Line2D([], [], **line), shorten(group.label)) for line, group in zip(lines, groups, strict=True)]
    if any(len(group.runs) > 1 for group in groups):
        said.append((style.band_mark(), "line: mean over seeds, band: lowest to highest"))
    style.legend_below(figure, said)


def _as_run(run: Mapping[str, Any]) -> Run:
    """A run as `pacs.report` draws it, from the results alone."""
    steps: dict[int, dict[str, float]] = {}
    for key, curve in run["curves"].items():
        for step, value in curve:
            steps.setdefault(int(step), {})[key] = value
    about = ("state", "started", "host", "git_commit", "python", "versions", "command")
    return Run(
        name=run["name"],
        path=Path(run["folder"]),
        config=run["settings"],
        info={key: run[key] for key in about},
        steps=dict(sorted(steps.items())),
    )


TABLE, PLOT, PAGE = "results.md", "results.png", "index.html"


def render(results: Mapping[str, Any]) -> dict[str, bytes]:
    """File -> content: results.md, and where a run has logged a step results.png and index.html."""
    files = {TABLE: results_page(results).encode()}
    if groups := groups_of(results):
        png, said = draw(results, groups)
        picture = Picture(png, said, results["description"], reading(results), (SCORE,))
        page = build_page(groups, pictures=[picture], tables=tables(results), title=title_of(results))
        files |= {PLOT: png, PAGE: page.encode()}
    return files


def title_of(results: Mapping[str, Any]) -> str:
    """Of the page."""
    return f"{results['sweep']}: {results['recipe']}"


def tables(results: Mapping[str, Any]) -> dict[str, Table]:
    """Caption -> table."""
    found = {"At the end of training": measure_table(results)}
    if missing := missing_table(results):
        found["Not finished"] = missing
    return found


def write_rendered(file: Path, out: Path) -> list[Path]:
    """Render a results.json into a folder; what is there already is replaced as a whole.

    Returns:
        The files.

    Raises:
        UserError: the file has no results, or none to draw.
    """
    results = read(file)
    files = render(results)
    if PLOT not in files:
        raise UserError(f"{file}: nothing to draw: no run has logged a step yet")
    out.mkdir(parents=True, exist_ok=True)
    write_together(out, files)
    return [out / name for name in files]
