"""Curves of pass@1 over budgets of tokens, as Markdown, as a picture, and as a part of a training run's report."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from pacs.base.markdown import interval, number, percent, table
from pacs.base.tables import Table, column_names
from pacs.base.terminal import visible
from pacs.evaluation.budgets import AtBudget, Budgets
from pacs.evaluation.comparison_page import difference_of, unlike
from pacs.report import style
from pacs.report.figures import AXES_SHARE, PAGE_INCHES, PNG_DOTS_PER_INCH, render_png
from pacs.report.findings import share, shorten
from pacs.report.page import Picture

ROW_INCHES, COLUMNS = 2.6, 2
TITLE = "pass@1 by budget of tokens"
EXPLANATION = """\
pass@1 in percent, with the 95% interval of the bootstrap over problems, of the same samples cut at each budget: what is
not answered by then is wrong. Samples that end before the budget keep their grades. Below it are the share of samples
that are cut, in percent, and the mean of their tokens."""


def page(budgets: Budgets) -> str:
    """The page as Markdown, with a newline at its end."""
    parts = [f"# {TITLE}", *([unlike(budgets.notes)] if budgets.notes else []), _explanation(budgets)]
    for task, rows in rows_of(budgets).items():
        cells = [[name, *map(str, row.values())] for name, row in rows.items()]
        parts += [f"## {task}: {budgets.problems[task]} problems", table(["", *column_names(rows)], cells)]
    return visible("\n\n".join(parts)) + "\n"


def of_report(budgets: Budgets) -> tuple[Picture, dict[str, Table]]:
    """For the report of a training run: the picture, and a table of each task by its caption."""
    notes = [f"Not everything but the model is the same: {note}" for note in budgets.notes]
    reading = " ".join([*_explanation(budgets).split(), *notes])
    alt = "; ".join(_told(task, curves) for task, curves in budgets.curves.items())
    rows = rows_of(budgets)
    tables = {f"{task} ({problems} problems), {TITLE}": rows[task] for task, problems in budgets.problems.items()}
    return Picture(render_png(draw(budgets)), alt, quantity=TITLE, reading=reading), tables


def rows_of(budgets: Budgets) -> dict[str, Table]:
    """Task -> row -> budget -> cell: of each evaluation pass@1, its difference to the first one's, and lengths."""
    found: dict[str, Table] = {}
    for task, curves in budgets.curves.items():
        first, *_ = curves
        rows: dict[str, dict[str, str]] = {}
        for label, curve in curves.items():
            at = {f"{budget:,}": value for budget, value in curve.items()}
            rows[label] = {budget: interval(value.accuracy) for budget, value in at.items()}
            differences = {budget: value.difference for budget, value in at.items() if value.difference}
            if differences:
                problems = budgets.problems[task]
                cells = {budget: difference_of(value, problems) for budget, value in differences.items()}
                rows[f"{label} − {first}"] = cells
            lengths = {budget: f"{percent(value.cut)}, {number(value.tokens)}" for budget, value in at.items()}
            rows[f"{label}: cut, tokens"] = lengths
        found[task] = rows
    return found


def _explanation(budgets: Budgets) -> str:
    first, *others = next(iter(budgets.curves.values()))
    differences = f" Differences are to {first}, problem by problem; `*` where the interval excludes 0."
    return EXPLANATION + (differences if others else "")


def _told(task: str, curves: Mapping[str, Mapping[int, AtBudget]]) -> str:
    """What became of each evaluation from the smallest budget to the largest."""
    budgets = list(next(iter(curves.values())))
    ways = [
        f"{share(curve[budgets[0]].accuracy.mean)} → {share(curve[budgets[-1]].accuracy.mean)} for {shorten(label)}"
        for label, curve in curves.items()
    ]
    return f"pass@1 of {task} from {budgets[0]:,} to {budgets[-1]:,} tokens: {', '.join(ways)}"


def draw(budgets: Budgets) -> Figure:
    """A panel a task, a curve an evaluation; budgets on a scale of powers of two."""
    count = len(budgets.curves)
    rows = -(-count // COLUMNS)
    columns = min(COLUMNS, count)
    labels = list(next(iter(budgets.curves.values())))
    with style.our_style():
        size = (PAGE_INCHES, rows * ROW_INCHES + 0.6)
        figure = Figure(figsize=size, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).flat
        for axes, (task, curves) in zip(panels, budgets.curves.items(), strict=False):
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
        for axes in list(panels)[count:]:
            axes.set_visible(False)
        said = [(Line2D([], [], **style.line_style(0, i, 1)), shorten(label)) for i, label in enumerate(labels)]
        style.legend_below(figure, [*said, (style.band_mark(), "95% interval: bootstrap over problems")])
    return figure
