"""The tables of a page, in Markdown. Numbers are means over seeds, `a ± b` with half of the 95% interval (t)."""

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import ROUNDING
from recipes.laboratory.compared import COSTS, Compared, Comparison, point
from recipes.laboratory.statistics import KS, over_seeds, reached

FINAL = (*(f"pass@{k}" for k in KS), "greedy", "entropy", "distinct", "right entropy", "response tokens", *COSTS)


def plus_minus(values: Sequence[float]) -> str:
    """A mean and half of its interval; the mean alone of one value or of equal ones, a dash of none."""
    if not values:
        return ABSENT
    mean = over_seeds(values)
    digits = 3 if abs(mean.mean) < 10 else 1 if abs(mean.mean) < 1000 else 0
    spread = "" if mean.half is None or mean.half < ROUNDING else f" ± {mean.half:,.{digits}f}"
    return f"{mean.mean:,.{digits}f}{spread}"


def learning_rates(comparison: Comparison) -> str:
    """The criterion at each learning rate: the mean, and each tuning seed's in brackets; the chosen one in bold."""
    grid = sorted({lr for arm in comparison.arms for lr in arm.choice.values})
    rows = []
    for arm in comparison.arms:
        choice = arm.choice
        cells = [_of_rate(arm, lr) for lr in grid]
        edge = f", **{choice.edge} of its grid**" if choice.edge else ""
        chosen = f"{choice.lr:g}{edge}" if choice.lr else "none: each failed" if choice.complete else "not yet"
        rows.append([arm.name, *cells, chosen])
    return table(["arm", *(f"{lr:g}" for lr in grid), "chosen"], rows)


def _of_rate(arm: Compared, lr: float) -> str:
    choice = arm.choice
    if lr not in choice.values:
        return ABSENT
    if not choice.states[lr]:
        return "given"
    each = [
        state if value is None else f"{value:.3f}"
        for value, state in zip(choice.values[lr], choice.states[lr], strict=True)
    ]
    known = [value for value in choice.values[lr] if value is not None]
    mean = f"{fmean(known):.3f} " if len(known) == len(each) else ""
    return f"**{mean}**({', '.join(each)})".replace(" **(", "** (") if lr == choice.lr else f"{mean}({', '.join(each)})"


def finals(comparison: Comparison) -> str:
    """Where each arm ended, and how many of its runs did not."""
    every = [(arm, arm.finals) for arm in comparison.with_ended]
    shown = [name for name in FINAL if any(name in values for _, values in every)]
    rows = [
        [arm.name, _seeds(arm), *(plus_minus(list(values.get(name, {}).values())) for name in shown)]
        for arm, values in every
    ]
    return table(["arm", "seeds", *shown], rows)


def _seeds(arm: Compared) -> str:
    """How many runs finished, and of how many that ended where others failed."""
    failed = f" of {arm.ended}, {len(arm.failed)} failed" if arm.failed else ""
    return f"{len(arm.runs)}{failed}"


def by_band(comparison: Comparison, k: int) -> str:
    """pass@k by the band of difficulty that a problem was made in; empty where there are none."""
    bands = comparison.bands
    rows = [
        [arm.name, *(plus_minus(list(arm.of_band(places, k).values())) for places in bands.values())]
        for arm in comparison.with_runs
    ]
    heads = [f"{band} ({len(places)})" for band, places in bands.items()]
    return table(["arm", *heads], rows) if len(bands) > 1 else ""


def never_solved(comparison: Comparison) -> tuple[int, str]:
    """How many problems no run had right before training, and what the arms come to with these.

    Empty without such a problem, where a run was not evaluated before training, or where each seed has its own start.
    """
    results = [result for arm in comparison.with_runs for result in arm.runs.values()]
    places = np.flatnonzero(~np.any([result["evaluations"][0]["right"] for result in results], axis=0))
    if comparison.question.own_starts or not comparison.from_the_start or not len(places):
        return 0, ""
    rows = []
    for arm in comparison.with_runs:
        ends = [result["evaluations"][-1] for result in arm.runs.values()]
        right = [np.array(end["right"])[places] for end in ends]
        solved = [float((each > 0).mean()) for each in right]
        ones = [float(each.mean() / end["samples"]) for each, end in zip(right, ends, strict=True)]
        rows.append([arm.name, plus_minus(solved), plus_minus(ones)])
    samples = results[0]["evaluations"][-1]["samples"]
    return len(places), table(["arm", f"solved in {samples} samples", "pass@1"], rows)


def levels(comparison: Comparison) -> list[float]:
    """Two values of pass@1 that the arms are compared at, where there are several evaluations.

    One is the lowest end of a run of the arms that gained, in the mean, at least half of what the best one gained: what
    has collapsed does not count, and all finished runs of the others get there. The other is halfway to it from the
    start. Where each seed has a start of its own they begin at other values, and there are none.
    """
    if comparison.question.own_starts or not comparison.from_the_start:
        return []
    ends = [list(arm.finals["pass@1"].values()) for arm in comparison.with_runs]
    start = min(
        point(result["evaluations"][0])["pass@1"] for arm in comparison.with_runs for result in arm.runs.values()
    )
    best = max(map(fmean, ends))
    lowest = min(min(each) for each in ends if fmean(each) - start >= (best - start) / 2)
    high = math.floor(lowest * 1000) / 1000  # rounded up, the run that ends there would not get there
    return [round(start + (high - start) / 2, 3), high] if high > start else []


def at_level(comparison: Comparison, level: float) -> str:
    """What each arm is, and has cost, where its runs first reach a value of pass@1."""
    # Not `distinct`: it grows with the samples, of which the last evaluation has more.
    shown = (f"pass@{comparison.large_k}", "entropy", *COSTS)
    rows = []
    for arm in comparison.with_runs:
        each = [reached([point(e) for e in r["evaluations"]], "pass@1", level) for r in arm.runs.values()]
        there = [one for one in each if one is not None]
        early = any(one.place == 0 for one in there)
        in_first = sum(one.place <= 1 for one in there)
        cells = [plus_minus([one.values[name] for one in there if name in one.values]) for name in shown]
        marked = [f"≤ {cell}" if early and name in COSTS else cell for name, cell in zip(shown, cells, strict=True)]
        rows.append([arm.name, f"{len(there)} of {arm.ended}", str(in_first), *marked])
    return table(["arm", "seeds there", "by the first", *shown], rows)


def at_cost(comparison: Comparison, cost: str, more_than: float = 1.0) -> tuple[float, str]:
    """The least of a cost that an arm's runs have, and what those that have more come to with as much.

    Empty where no arm has more; with the first baseline beside them.

    Args:
        comparison: of the arms.
        cost: one of `COSTS`.
        more_than: an arm has more with over so many times the least.
    """
    spent = {arm.name: fmean(arm.finals[cost].values()) for arm in comparison.with_runs}
    least = min(spent.values())
    more = [arm for arm in comparison.with_runs if spent[arm.name] > more_than * least]
    base = [arm for arm in comparison.with_runs if arm.name == comparison.question.baselines[0] and arm not in more]
    shown = (*comparison.shown, *COSTS)
    # The baseline has no more: it is shown as it ended, since of its seeds some have a little less than their mean.
    rows = [[arm.name, *(plus_minus(list(arm.finals[name].values())) for name in shown)] for arm in base]
    for arm in more:
        each = [reached([point(e) for e in r["evaluations"]], cost, least) for r in arm.runs.values()]
        there = [one for one in each if one is not None]
        rows.append([arm.name, *(plus_minus([one.values[name] for one in there]) for name in shown)])
    return least, table(["arm", *shown], rows) if more else ""


def bar(comparison: Comparison) -> str:
    """How many seeds of each arm reach what the question asks of each; empty where it asks nothing."""
    if comparison.question.bar is None:
        return ""
    measure, least = comparison.question.bar
    rows = []
    for arm in comparison.with_ended:
        values = list(arm.finals.get(measure, {}).values())
        passed = sum(value >= least for value in values)
        lowest = "failed" if arm.failed else f"{min(values):.3f}"
        rows.append([arm.name, f"{passed} of {arm.ended}", lowest, plus_minus(values)])
    return table(["arm", f"{measure} at least {least:g}", "lowest", "mean"], rows)
