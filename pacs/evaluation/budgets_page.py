"""Curves of pass@1 over budgets of tokens, as Markdown and as a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from pacs.base.markdown import interval, number, percent, table
from pacs.base.terminal import visible
from pacs.evaluation.budgets import AtBudget, Budgets
from pacs.evaluation.comparison_page import difference_of, unlike
from pacs.report import style
from pacs.report.figures import AXES_SHARE, PAGE_INCHES, PNG_DOTS_PER_INCH
from pacs.report.findings import shorten

ROW_INCHES, COLUMNS = 2.6, 2
EXPLANATION = """\
pass@1 in percent, with the 95% interval of the bootstrap over problems, of the same samples cut at each budget: what is
not answered by then is wrong. Samples that end before the budget keep their grades."""


def page(budgets: Budgets, problems: dict[str, int], notes: Sequence[str]) -> str:
    """The page as Markdown, with a newline at its end.

    Args:
        budgets: to be shown.
        problems: of each task.
        notes: what makes a comparison doubtful.
    """
    labels = list(next(iter(budgets.values())))
    about = EXPLANATION + (
        f" Differences are to {labels[0]}, problem by problem; `*` where the interval excludes 0." if labels[1:] else ""
    )
    parts = ["# pass@1 by budget of tokens", *([unlike(notes)] if notes else []), about]
    for task, curves in budgets.items():
        columns = list(next(iter(curves.values())))
        rows = []
        for label, curve in curves.items():
            rows.append([label, *(interval(at.accuracy) for at in curve.values())])
            if label != labels[0]:
                cells = [difference_of(at.difference, problems[task]) for at in curve.values() if at.difference]
                rows.append([f"{label} − {labels[0]}", *cells])
            rows.append([f"{label}: cut, tokens", *(_lengths(at) for at in curve.values())])
        parts += [f"## {task}: {problems[task]} problems", table(["", *(f"{b:,}" for b in columns)], rows)]
    return visible("\n\n".join(parts)) + "\n"


def _lengths(at: AtBudget) -> str:
    return f"{percent(at.cut)}, {number(at.tokens)}"


def draw(budgets: Budgets) -> Figure:
    """A panel a task, a curve an evaluation; budgets on a scale of powers of two."""
    rows = -(-len(budgets) // COLUMNS)
    columns = min(COLUMNS, len(budgets))
    labels = list(next(iter(budgets.values())))
    with style.our_style():
        size = (PAGE_INCHES, rows * ROW_INCHES + 0.6)
        figure = Figure(figsize=size, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).flat
        for axes, (task, curves) in zip(panels, budgets.items(), strict=False):
            style.set_title(axes, task, AXES_SHARE * PAGE_INCHES / columns)
            axes.set_xscale("log", base=2)
            axes.set_xlabel("tokens of a response, at most")
            axes.set_ylabel("pass@1")
            axes.set_xticks(list(next(iter(curves.values()))))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
            for index, curve in enumerate(curves.values()):
                line = style.line_style(0, index, 1)
                ends = [(at.accuracy.mean, at.accuracy.low, at.accuracy.high) for at in curve.values()]
                means, lows, highs = zip(*ends, strict=True)
                axes.fill_between([*curve], lows, highs, color=line["color"], alpha=style.BAND_ALPHA, linewidth=0)
                axes.plot([*curve], means, **line)
        for axes in list(panels)[len(budgets) :]:
            axes.set_visible(False)
        said = [(Line2D([], [], **style.line_style(0, i, 1)), shorten(label)) for i, label in enumerate(labels)]
        style.legend_below(figure, [*said, (style.band_mark(), "95% interval: bootstrap over problems")])
    return figure
