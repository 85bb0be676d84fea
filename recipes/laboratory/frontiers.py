"""The frontier as tables: pass@1 and pass@k of each arm through the steps of its runs, and at each learning rate."""

from collections.abc import Iterable, Mapping
from typing import Any

from pacs.base.markdown import ABSENT, table
from recipes.laboratory.compared import Comparison, point
from recipes.laboratory.tables import plus_minus


def by_step(comparison: Comparison) -> str:
    """At each evaluation but that before training, on test problems; empty where the end is the only one."""
    steps = sorted(
        {e["step"] for arm in comparison.with_runs for r in arm.runs.values() for e in r["evaluations"] if e["step"]}
    )
    rows = []
    for arm in comparison.with_runs:
        every = [e for result in arm.runs.values() for e in result["evaluations"]]
        rows.append([arm.name, *(_both(comparison, [e for e in every if e["step"] == step]) for step in steps)])
    return table(["arm", *(f"step {step:,}" for step in steps)], rows) if len(steps) > 1 else ""


def by_rate(comparison: Comparison) -> str:
    """At the end of the runs that tuned, on the problems that tune; empty where none did."""
    grid = sorted({lr for arm in comparison.arms for lr in arm.tuning})
    rows = []
    for arm in comparison.arms:
        if arm.tuning:
            ends = {lr: [result["evaluations"][-1] for result in results] for lr, results in arm.tuning.items()}
            rows.append([arm.name, *(_both(comparison, ends.get(lr, [])) for lr in grid)])
    return table(["arm", *(f"{lr:g}" for lr in grid)], rows) if rows else ""


def _both(comparison: Comparison, evaluations: Iterable[Mapping[str, Any]]) -> str:
    """pass@1 and pass@k, as far as all have the samples for it, and of how many seeds."""
    points = [point(evaluation) for evaluation in evaluations]
    names = [name for name in comparison.shown if all(name in each for each in points)]
    if not points:
        return ABSENT
    seeds = "" if len(points) > 1 else " (one seed)"
    return "; ".join(plus_minus([each[name] for each in points]) for name in names) + seeds
