"""The results as a picture of three panels."""

from collections.abc import Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pacs.report.figures import PNG_DOTS_PER_INCH, render_png
from pacs.report.style import legend_below, line_style, our_style, set_title
from recipes.genac_arithmetic.page import NAMES, Results
from recipes.genac_arithmetic.sizes import CRITICS, JOINT

SIZE_INCHES = (11.0, 4.4)
Line = Sequence[tuple[float, float]]


def picture(found: Results) -> bytes:
    """A PNG: the critic's MSE through RL with the actor frozen; pass@1 by steps; and by generated tokens."""
    arms = [arm for arm in JOINT if found.get(arm)]
    with our_style():
        figure = Figure(figsize=SIZE_INCHES, dpi=PNG_DOTS_PER_INCH, layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        critics = list(found.get(CRITICS, {}).values())
        _lines(left, [[(p["step"], p["mse"]) for p in each["curve"]] for each in critics], {"color": "C0"})
        for name, dashes in (("oracle", ":"), ("head", "--")):
            if critics:
                left.axhline(fmean(each[name]["mse"] for each in critics), color="0.4", linestyle=dashes, linewidth=1)
        set_title(left, "MSE through RL (dashes: value head, points: V(x))", SIZE_INCHES[0] / 3.2)
        left.set_xlabel("step of REINFORCE, the actor frozen")
        for place, arm in enumerate(arms):
            runs, style = list(found[arm].values()), line_style(place, 0, len(arms))
            for axes, key, scale in ((middle, "step", 1), (right, "tokens", 1000)):
                if key == "step" or not arm.startswith("counted"):
                    lines = [[(p[key] / scale, p["pass@1"]) for p in run["evaluations"]] for run in runs]
                    _lines(axes, lines, style)
        for axes, title, label in (
            (middle, "pass@1 by steps", "step"),
            (right, "pass@1 by tokens", "thousand generated tokens"),
        ):
            set_title(axes, title, SIZE_INCHES[0] / 3.2)
            axes.set_xlabel(label)
            axes.grid(visible=True, axis="both")
        handles = [Line2D([], [], **line_style(place, 0, len(arms))) for place in range(len(arms))]
        legend_below(figure, list(zip(handles, [NAMES[arm] for arm in arms], strict=True)))
    return render_png(figure)


def _lines(axes: Axes, lines: Sequence[Line], style: dict) -> None:  # type: ignore[type-arg]
    if lines:
        means = [(fmean(x for x, _ in at), fmean(y for _, y in at)) for at in zip(*lines, strict=True)]
        for line in lines:
            axes.plot([x for x, _ in line], [y for _, y in line], color=style["color"], linewidth=0.4, alpha=0.25)
        axes.plot([x for x, _ in means], [y for _, y in means], **style, markevery=[len(means) - 1], zorder=3)
