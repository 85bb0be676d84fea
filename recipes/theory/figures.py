"""The figures of the theory page, from kept results alone."""

import io
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from recipes.theory import few
from recipes.theory.flow import SETTINGS as FLOW
from recipes.theory.flow import start, state
from recipes.theory.section_toy import best
from recipes.theory.toy import METHODS
from recipes.theory.toy_task import WORLDS

#: Of matplotlib's cycle.
COLOURS = 10


def flow_figure(runs: dict[str, Any]) -> bytes:
    """Entropy given a right response against updates, of the balanced cases, groups of one class kept and dropped."""
    canvas = Figure(figsize=(8, 3.2), layout="constrained")
    limit = float(state(start()[None], start()).right_entropy)
    for axes, case in zip(
        canvas.subplots(1, 2, sharey=True),
        ("balanced, all groups", "balanced, mixed groups alone"),
        strict=True,
    ):
        for period, found in runs[case].items():
            label = "never" if period == "None" else f"K = {period}"
            axes.plot(FLOW["updates"], found["right_entropy"], marker="o", markersize=3, label=label)
        axes.axhline(limit, color="grey", linestyle=":", linewidth=1)
        axes.set(xscale="log", xlabel="updates", title=case)
    canvas.axes[0].set_ylabel("entropy of right responses, nats")
    canvas.axes[0].legend(fontsize=8)
    return _png(canvas)


def toy_figure(runs: dict[str, Any]) -> bytes:
    """pass@1 against pass@32 on held-out prompts, a curve a method over learning rates."""
    canvas = Figure(figsize=(9, 3.8), layout="constrained")
    for axes, world in zip(canvas.subplots(1, len(WORLDS)), WORLDS, strict=True):
        for place, name in enumerate(METHODS):
            first, second = (np.mean(runs[world][name][key], axis=1) for key in ("pass@1", "pass@32"))
            style = "--" if place >= COLOURS else "-"
            axes.plot(first, second, marker="o", markersize=3, label=name, color=f"C{place % COLOURS}", linestyle=style)
        axes.set(xlabel="pass@1", ylabel="pass@32", title=world)
    canvas.axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _png(canvas)


def few_figure(runs: dict[str, Any]) -> bytes:
    """Held-out pass@1 at a method's best learning rate against the number of prompts, a line a method."""
    canvas = Figure(figsize=(9, 3.4), layout="constrained")
    shortest = min(rollouts for _, rollouts in few.SETTINGS["cases"])
    numbers = [prompts for prompts, rollouts in few.SETTINGS["cases"] if rollouts == shortest]
    for axes, world in zip(canvas.subplots(1, len(few.WORLDS)), few.WORLDS, strict=True):
        for name in few.METHODS:
            ends = [best(runs[world][few.named(name, prompts, shortest)]).runs["pass@1"].mean() for prompts in numbers]
            axes.plot(range(len(numbers)), ends, marker="o", markersize=3, label=name)
        axes.set(xlabel="prompts to train on", ylabel="held-out pass@1", title=world)
        axes.set_xticks(range(len(numbers)), ["always new" if number is None else str(number) for number in numbers])
    canvas.axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _png(canvas)


def _png(canvas: Figure) -> bytes:
    stream = io.BytesIO()
    canvas.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    return stream.getvalue()
