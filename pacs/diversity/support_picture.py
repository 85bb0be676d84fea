"""What a trained model has gained and lost, and its answer entropy against its token entropy."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from pacs.diversity.support import ENTROPIES, Support, TaskSupport, together
from pacs.report.style import COLOURS, our_style

WIDTH_INCHES = 6.6
ROW_INCHES = 0.42
TITLE_CHARS = 64
#: Category -> how its bar is drawn: told apart without colour, too.
LOOKS: dict[str, dict[str, Any]] = {
    "kept": {"color": "#BBBBBB", "edgecolor": "#FFFFFF"},
    "gained": {"color": COLOURS[0], "hatch": "//", "edgecolor": "#FFFFFF"},
    "lost": {"color": COLOURS[1], "hatch": "\\\\", "edgecolor": "#FFFFFF"},
    "neither": {"color": "#FFFFFF", "edgecolor": "#444444"},
}
#: A narrower share has no number in it.
ROOM_FOR_NUMBER = 0.04
PLATE = {"facecolor": "#FFFFFF", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}


def draw(names: Sequence[str], results: Mapping[str, TaskSupport]) -> Figure:
    """The figure: a bar of problems a task and k; below it, where tokens' entropy was recorded, the entropies.

    Args:
        names: the base model's and the trained one's.
        results: of each task.
    """
    bars = {
        f"{task}, k = {k}": part
        for task, result in results.items()
        for k, part in sorted(result.at.items(), reverse=True)
    }
    both = {task: result for task, result in results.items() if len(result.entropies) == 2}
    heights = [1.1 + ROW_INCHES * len(bars), *([2.8] if both else [])]
    with our_style():
        figure = Figure(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        whole = together([result.at[result.k] for result in results.values()])
        k = max(result.k for result in results.values())
        solved = f"{names[1]} gains {len(whole.gained)} and loses {len(whole.lost)} of {_problems(whole)} problems"
        _bars(panels[0], fill(f"{solved} within k = {k}, against {names[0]}", TITLE_CHARS), bars)
        if both:
            _entropies(panels[1], names, both)
    return figure


def _bars(axes: Axes, title: str, bars: Mapping[str, Support]) -> None:
    axes.set_title(title, pad=20, parse_math=False)
    for row, part in enumerate(bars.values()):
        left = 0.0
        for category, problems in part._asdict().items():
            share = len(problems) / _problems(part)
            look = LOOKS[category] | {"linewidth": 0.6, "height": 0.66, "label": category if row == 0 else None}
            axes.barh(row, share, left=left, **look)
            if share > ROOM_FOR_NUMBER:
                axes.text(left + share / 2, row, str(len(problems)), ha="center", va="center", fontsize=7.5, bbox=PLATE)
            left += share
        axes.text(1.01, row, f"+{len(part.gained)} −{len(part.lost)}", va="center", fontsize=7.5)
    axes.set_yticks(range(len(bars)), list(bars), parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of problems")
    axes.grid(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)


def _problems(part: Support) -> int:
    return sum(map(len, part))


def _entropies(axes: Axes, names: Sequence[str], results: Mapping[str, TaskSupport]) -> None:
    axes.set_title(_direction(results))
    for index, (task, result) in enumerate(results.items()):
        token, answer = result.entropies["token_entropy"], result.entropies["answer_entropy"]
        start, end = (token.base.mean, answer.base.mean), (token.model.mean, answer.model.mean)
        colour = COLOURS[index % len(COLOURS)]
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 4, "shrinkB": 0})
        axes.plot(*start, marker="o", markerfacecolor="#FFFFFF", color=colour, linestyle="")
        axes.plot(*end, marker="o", color=colour, linestyle="")
        axes.annotate(task, start, xytext=(6, 4), textcoords="offset points", fontsize=7.5, parse_math=False)
    axes.set_xlabel(f"token entropy, nats a token (open: {names[0]}, filled: {names[1]})", parse_math=False)
    axes.set_ylabel("answer entropy, nats a problem")
    axes.margins(0.15)


def _direction(results: Mapping[str, TaskSupport]) -> str:
    """What the arrows say."""
    falls = {name: sum(result.entropies[name].difference.mean < 0 for result in results.values()) for name in ENTROPIES}
    answers, tokens = falls["answer_entropy"], falls["token_entropy"]
    if len(results) == 1:
        return f"Entropy of answers {'falls' if answers else 'rises'}, that of tokens {'falls' if tokens else 'rises'}"
    return f"Entropy of answers falls in {answers} of {len(results)} tasks, that of tokens in {tokens}"
