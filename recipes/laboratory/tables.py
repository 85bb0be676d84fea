"""The tables of a page, in Markdown. Numbers are means over seeds, `a ± b` with half of the 95% interval (t)."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import ROUNDING, Estimate
from recipes.laboratory.compared import COSTS, Compared, Comparison, point
from recipes.laboratory.statistics import KS, difference, holm, over_seeds, over_seeds_and_problems, rates, reached

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
    """Where each arm ended."""
    every = [(arm, arm.finals()) for arm in comparison.with_runs]
    shown = [name for name in FINAL if any(name in values for _, values in every)]
    rows = [
        [arm.name, str(len(arm.runs)), *(plus_minus(list(values.get(name, {}).values())) for name in shown)]
        for arm, values in every
    ]
    return table(["arm", "seeds", *shown], rows)


def choice_of_problems(comparison: Comparison) -> str:
    """The same means with the interval for the choice of seeds and of problems."""
    ks = [1, comparison.large_k]
    rows = [
        [arm.name, *(_interval(over_seeds_and_problems(arm.table(k))) for k in ks)]
        for arm in comparison.with_runs
        if len(arm.runs) > 1
    ]
    return table(["arm", *(f"pass@{k}" for k in ks)], rows)


def differences(comparison: Comparison) -> str:
    """Each arm less the baseline, with p-values corrected for all comparisons of the table; empty without one."""
    question, ks = comparison.question, (1, comparison.large_k)
    base = next(arm for arm in comparison.arms if arm.name == question.baseline)
    theirs = base.finals()
    found = [
        (arm, k, compared)
        for arm in comparison.with_runs
        for k in ks
        if arm is not base
        and base.runs
        and (compared := difference(arm.finals()[f"pass@{k}"], theirs[f"pass@{k}"], pairs=question.pairs))
    ]
    corrected = holm([compared.p for _, _, compared in found])
    cells: dict[str, list[str]] = {}
    for (arm, k, compared), p in zip(found, corrected, strict=True):
        both = over_seeds_and_problems(arm.table(k), base.table(k))
        cells.setdefault(arm.name, []).extend(
            [
                f"{_signed(compared.mean)} [{_signed(compared.low)}, {_signed(compared.high)}]",
                "< .0001" if p < 1e-4 else f"{p:.4f}",
                f"[{_signed(both.low)}, {_signed(both.high)}]",
            ]
        )
    heads = [f"pass@{k}{head}" for k in ks for head in ("", ": p (Holm)", ": seeds and problems")]
    return table(["arm", *heads], [[name, *row] for name, row in cells.items()]) if cells else ""


def by_band(comparison: Comparison, k: int) -> str:
    """pass@k by the band of difficulty that a problem was made in; empty where there are none."""
    # The same of all runs: they are evaluated on the same problems.
    bands: Mapping[str, Sequence[int]] = next(iter(comparison.with_runs[0].runs.values()))["bands"]
    rows = [
        [arm.name, *(plus_minus(_of_band(arm, places, k)) for places in bands.values())] for arm in comparison.with_runs
    ]
    heads = [f"{band} ({len(places)})" for band, places in bands.items()]
    return table(["arm", *heads], rows) if len(bands) > 1 else ""


def _of_band(arm: Compared, places: Sequence[int], k: int) -> list[float]:
    return [float(rates(result["evaluations"][-1], k)[list(places)].mean()) for result in arm.runs.values()]


def levels(comparison: Comparison) -> list[float]:
    """Two values of pass@1 that the arms are compared at, where there are several evaluations.

    One is the lowest final mean among the arms that gained at least half of what the best one gained: what has
    collapsed does not count. The other is halfway to it from the start.
    """
    ends = [fmean(arm.finals()["pass@1"].values()) for arm in comparison.with_runs]
    start = min(
        point(result["evaluations"][0])["pass@1"] for arm in comparison.with_runs for result in arm.runs.values()
    )
    high = min(end for end in ends if end - start >= (max(ends) - start) / 2)
    return [round(start + (high - start) / 2, 3), round(high, 3)] if high > start else []


def at_level(comparison: Comparison, level: float) -> str:
    """What each arm is, and has cost, where its runs first reach a value of pass@1."""
    # Not `distinct`: it grows with the samples, of which the last evaluation has more.
    shown = (f"pass@{comparison.large_k}", "entropy", *COSTS)
    rows = []
    for arm in comparison.with_runs:
        each = [reached([point(e) for e in r["evaluations"]], "pass@1", level) for r in arm.runs.values()]
        there = [one for one in each if one is not None]
        early = any(one.at_first for one in there)
        cells = [plus_minus([one.values[name] for one in there if name in one.values]) for name in shown]
        marked = [f"≤ {cell}" if early and name in COSTS else cell for name, cell in zip(shown, cells, strict=True)]
        rows.append([arm.name, f"{len(there)} of {len(each)}", *marked])
    return table(["arm", "seeds there", *shown], rows)


def bar(comparison: Comparison) -> str:
    """How many seeds of each arm reach what the question asks of each; empty where it asks nothing."""
    if comparison.question.bar is None:
        return ""
    measure, least = comparison.question.bar
    rows = []
    for arm in comparison.with_runs:
        values = list(arm.finals()[measure].values())
        passed = sum(value >= least for value in values)
        rows.append([arm.name, f"{passed} of {len(values)}", f"{min(values):.3f}", plus_minus(values)])
    return table(["arm", f"{measure} at least {least:g}", "lowest", "mean"], rows)


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
