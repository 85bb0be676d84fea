"""The two figures of the theory page, from kept results alone."""

import io
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from recipes.theory.flow import SETTINGS as FLOW
from recipes.theory.flow import start, state
from recipes.theory.toy import METHODS
from recipes.theory.toy_task import WORLDS


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
        for name in METHODS:
            first, second = (np.mean(runs[world][name][key], axis=1) for key in ("pass@1", "pass@32"))
            axes.plot(first, second, marker="o", markersize=3, label=name)
        axes.set(xlabel="pass@1", ylabel="pass@32", title=world)
    canvas.axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return _png(canvas)


def _png(canvas: Figure) -> bytes:
    stream = io.BytesIO()
    canvas.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    return stream.getvalue()
