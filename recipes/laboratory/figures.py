"""The frontier: pass@1 against pass@k, through learning rates and through the steps of runs."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pacs.report.figures import PNG_DOTS_PER_INCH, render_png
from pacs.report.style import legend_below, line_style, our_style, set_figure_title, set_title
from recipes.laboratory.compared import Compared, Comparison, point

SIZE_INCHES = (9.0, 5.2)
Line = Sequence[tuple[float, float]]


def frontier(comparison: Comparison) -> bytes:
    """A PNG of two panels, the same colours and marks an arm in both.

    Left, on test problems: a line through the evaluations of an arm, means over seeds, with a mark at its end, and a
    thin one for each run. Right, on the problems that tune: a line through the ends at each learning rate, means over
    tuning seeds.

    Args:
        comparison: with an arm that has runs, at least.
    """
    k, arms = comparison.large_k, comparison.arms
    starts = [point(r["evaluations"][0]) for arm in comparison.with_runs for r in arm.runs.values()]
    known = comparison.from_the_start
    start = {name: fmean(each[name] for each in starts) if known else 0.0 for name in ("pass@1", f"pass@{k}")}
    with our_style():
        figure = Figure(figsize=SIZE_INCHES, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        left, right = figure.subplots(1, 2)
        for place, arm in enumerate(arms):
            style = line_style(place, 0, len(arms))
            _draw_steps(left, through_steps(arm, k), style)
            line = through_rates(arm, k, start)
            right.plot([x for x, _ in line], [y for _, y in line], **style)
        set_title(left, "Through steps, on test problems (mark: the end)", SIZE_INCHES[0] / 2.2)
        set_title(right, "Through learning rates, on the problems that tune", SIZE_INCHES[0] / 2.2)
        for axes in (left, right):
            axes.set_xlabel("pass@1")
            axes.set_ylabel(f"pass@{k}")
            axes.grid(visible=True, axis="both")
        set_figure_title(figure, f"{comparison.question.title}: {comparison.task}")
        handles = [Line2D([], [], **line_style(place, 0, len(arms))) for place in range(len(arms))]
        legend_below(figure, list(zip(handles, [arm.name for arm in arms], strict=True)))
    return render_png(figure)


def through_steps(arm: Compared, k: int) -> list[Line]:
    """The evaluations of each run, as (pass@1, pass@k)."""
    points = [[point(evaluation) for evaluation in result["evaluations"]] for result in arm.runs.values()]
    return [[(each["pass@1"], each[f"pass@{k}"]) for each in run] for run in points]


def through_rates(arm: Compared, k: int, start: Mapping[str, float]) -> Line:
    """The end at each learning rate in ascending order, as (pass@1, pass@k), the means over tuning seeds.

    A rate that destroyed the policy would set the scale, and is left out: one with less pass@1 than the start has, or
    less than half of its pass@k.
    """
    line = []
    for lr in sorted(arm.tuning):
        ends = [point(result["evaluations"][-1]) for result in arm.tuning[lr]]
        if all(f"pass@{k}" in end for end in ends):
            one, large = (fmean(end[name] for end in ends) for name in ("pass@1", f"pass@{k}"))
            if one >= start["pass@1"] and large >= start[f"pass@{k}"] / 2:
                line.append((one, large))
    return line


def _draw_steps(axes: Axes, lines: Sequence[Line], style: dict[str, Any]) -> None:
    for line in lines:
        axes.plot([x for x, _ in line], [y for _, y in line], color=style["color"], linewidth=0.4, alpha=0.2)
    if lines:
        means = [(fmean(x for x, _ in at), fmean(y for _, y in at)) for at in zip(*lines, strict=True)]
        last = [len(means) - 1]
        axes.plot([x for x, _ in means], [y for _, y in means], **style, markevery=last, zorder=3)
