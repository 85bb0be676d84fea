"""Tables that compare arms: differences of means over seeds, and the intervals for the choice of seeds and problems."""

from dataclasses import dataclass

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import Estimate
from recipes.laboratory.compared import Compared, Comparison
from recipes.laboratory.statistics import (
    LEAST_FOR_BOOTSTRAP,
    Difference,
    difference,
    holm,
    over_seeds_and_problems,
)


@dataclass(frozen=True)
class Compare:
    """Two arms at a k of pass@k: `ours` less `base`, and p corrected for all comparisons of the page."""

    base: Compared
    ours: Compared
    k: int
    found: Difference
    p: float | None  # None: of too few seeds, and none of those that are corrected for


def compares(comparison: Comparison) -> list[Compare]:
    """All comparisons of a page, of arms with two seeds at least, with the p-values of all corrected by Holm."""
    question, arms = comparison.question, {arm.name: arm for arm in comparison.with_runs}
    pairs = [
        (arms[base], arms[ours], k)
        for base, names in question.against().items()
        for ours in names
        for k in comparison.ks
        if base in arms and ours in arms
    ]
    each = [
        (base, ours, k, found)
        for base, ours, k in pairs
        if (found := difference(_ends(ours, k), _ends(base, k), pairs=question.pairs))
    ]
    corrected = iter(holm([found.p for *_, found in each if found.p is not None]))
    return [Compare(*one, p=None if one[-1].p is None else next(corrected)) for one in each]


def _ends(arm: Compared, k: int) -> dict[int, float]:
    return arm.finals[f"pass@{k}"]


def tables(comparison: Comparison) -> dict[str, str]:
    """Arm -> the table of those that are compared with it; without those that have nothing to compare."""
    ks = comparison.ks
    cells: dict[str, dict[str, list[str]]] = {}
    for one in compares(comparison):
        row = cells.setdefault(one.base.name, {}).setdefault(one.ours.name, [])
        row += [_interval(one.found), _p(one.p)]
        both = _both(comparison, one.k, one.ours, one.base)
        row += [f"[{_signed(both.low)}, {_signed(both.high)}]" if both else ABSENT]
    heads = [f"pass@{k}{head}" for k in ks for head in ("", ": p (Holm)", ": seeds and problems")]
    return {base: table(["arm", *heads], [[name, *row] for name, row in rows.items()]) for base, rows in cells.items()}


def by_band(comparison: Comparison) -> str:
    """pass@1 by band of difficulty less that of the first baseline, with 95% intervals over seeds, not corrected.

    Empty where there are no bands, or no two arms with two seeds at least.
    """
    bands, question = comparison.bands, comparison.question
    base = next((arm for arm in comparison.with_runs if arm.name == question.baselines[0]), None)
    if base is None or len(bands) < 2:
        return ""
    rows = []
    for arm in comparison.with_runs:
        each = [
            difference(arm.of_band(places, 1), base.of_band(places, 1), pairs=question.pairs)
            for places in bands.values()
        ]
        if arm is not base and all(each):
            rows.append([arm.name, *(_interval(found) for found in each if found)])
    return table(["arm", *bands], rows) if rows else ""


def _interval(found: Difference) -> str:
    return f"{_signed(found.mean)} [{_signed(found.low)}, {_signed(found.high)}]"


def choice_of_problems(comparison: Comparison) -> str:
    """The means with the interval for the choice of seeds and of problems; empty where no arm has enough seeds."""
    ks = comparison.ks
    rows = []
    for arm in comparison.with_runs:
        cells = [f"{b.mean:.3f} [{b.low:.3f}, {b.high:.3f}]" for k in ks if (b := _both(comparison, k, arm))]
        rows += [[arm.name, *cells]] if cells else []
    return table(["arm", *(f"pass@{k}" for k in ks)], rows) if rows else ""


def _both(comparison: Comparison, k: int, ours: Compared, base: Compared | None = None) -> Estimate | None:
    """The bootstrap of seeds and problems; None with too few seeds, or where each seed has problems of its own."""
    seeds = min(len(arm.runs) for arm in (ours, base or ours))
    if seeds < LEAST_FOR_BOOTSTRAP or comparison.question.own_starts:
        return None
    theirs = None if base is None else base.table(k)
    return over_seeds_and_problems(ours.table(k), theirs, bands=list(comparison.bands.values()))


def _p(value: float | None) -> str:
    return ABSENT if value is None else "< .0001" if value < 1e-4 else f"{value:.4f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
