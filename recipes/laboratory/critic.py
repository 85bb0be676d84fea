"""Tables of what a run's own steps say: its signals, and what the implicit critic knows of right and wrong."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from pacs.base.markdown import ABSENT, table
from recipes.laboratory.compared import Compared, Comparison
from recipes.laboratory.statistics import Mean, jackknife
from recipes.laboratory.tables import plus_minus

#: Keys of a curve's points, and what the table calls them.
SIGNALS = {
    "reward": "share right",
    "entropy": "entropy",
    "gradient_norm": "gradient norm",
    "mixed_groups_fraction": "mixed groups",
    "log_ratio_mean": "log-ratio",
    "explained_variance": "explained variance",
    "residual_mean": "residual",
    "critic_accuracy": "critic's ranking",
    "critic_brier": "critic's Brier",
    "group_mean_brier": "group mean's Brier",
}


def signals(comparison: Comparison) -> str:
    """Each signal's mean over the first and over the last quarter of the points of the curves; and how many resets."""
    arms = comparison.with_runs
    shown = [key for key in SIGNALS if any(_quarter(arm.runs.values(), key, 0) for arm in arms)]
    rows = [[arm.name, *(_text(arm, key) for key in shown), _resets(arm)] for arm in arms]
    return table(["arm", *(SIGNALS[key] for key in shown), "resets"], rows)


def _resets(arm: Compared) -> str:
    # The oldest records do not say.
    return plus_minus([len(result["resets"]) for result in arm.runs.values() if "resets" in result])


def _text(arm: Compared, key: str) -> str:
    first, last = (_quarter(arm.runs.values(), key, place) for place in (0, -1))
    return f"{fmean(first):.3f} → {plus_minus(last)}" if first else ABSENT


def _quarter(results: Iterable[Mapping[str, Any]], key: str, place: int) -> list[float]:
    """A value a run that has any: the mean over the first quarter of its points (0) or over the last (-1)."""
    means = []
    for result in results:
        column = result["curve"].get(key, [])
        length = max(1, len(column) // 4)
        values = [value for value in (column[:length] if place == 0 else column[-length:]) if value is not None]
        means += [fmean(values)] if values else []
    return means


def by_rate(comparison: Comparison) -> str:
    """The critic's ranking and Brier score over the last quarter of the runs that tuned, by their learning rate.

    Empty where no arm has a critic.
    """
    grid = sorted({lr for arm in comparison.arms for lr in arm.tuning})
    rows = []
    for arm in comparison.arms:
        cells = []
        for lr in grid:
            found = [_quarter(arm.tuning.get(lr, []), key, -1) for key in ("critic_accuracy", "critic_brier")]
            cells.append("; ".join(map(plus_minus, found)) if all(found) else ABSENT)
        if set(cells) - {ABSENT}:
            rows.append([arm.name, *cells])
    return table(["arm", *(f"{lr:g}" for lr in grid)], rows) if rows else ""


def calibration(comparison: Comparison) -> str:
    """Of the responses of mixed groups, how many of each range of sigma(psi) were right; empty where none is known.

    And how far sigma(psi) is from that, once as it is and once with the classes of each group balanced.
    """
    rows = []
    heads: list[str] = []
    for arm in comparison.with_runs:
        each = [r["calibration"] for r in arm.runs.values() if r.get("calibration")]
        bins = summed(each)
        if any(count for count, *_ in bins):
            heads = [f"{i / len(bins):g} to {(i + 1) / len(bins):g}" for i in range(len(bins))]
            total = sum(count for count, *_ in bins)
            cells = [
                f"{_with(jackknife(each, partial(_share_right, place)), 2)} ({bins[place][0] / total:.0%})"
                if bins[place][0]
                else ABSENT
                for place in range(len(bins))
            ]
            errors = [_with(jackknife(each, partial(_error, which)), 3) for which in (0, 1)]
            rows.append([arm.name, *errors, *cells])
    return table(["arm", "error", "error, balanced", *heads], rows) if rows else ""


def _share_right(place: int, tables: Sequence[Sequence[Sequence[float]]]) -> float:
    count, _, right, *_ = summed(tables)[place]
    return right / count if count else math.nan


def _error(which: int, tables: Sequence[Sequence[Sequence[float]]]) -> float:
    return calibration_errors(summed(tables))[which]


def _with(found: Mean, digits: int) -> str:
    half = "" if found.half is None else f" ± {found.half:.{digits}f}"
    return f"{found.mean:.{digits}f}{half}"


def summed(tables: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """The bins of several runs added up, as `signals.Calibration.bins` has them."""
    return [[sum(column) for column in zip(*bins, strict=True)] for bins in zip(*tables, strict=True)]


def calibration_errors(bins: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over responses of |mean sigma(psi) of its bin - share of right ones|; and with balanced classes.

    Both are not a number where there is no response.
    """
    total = sum(each[0] for each in bins)
    if not total:
        return math.nan, math.nan
    plain = sum(abs(score - right) for _, score, right, _, _ in bins) / total
    balanced = sum(count * abs(score / count - right / weight) for count, score, _, weight, right in bins if count)
    return plain, balanced / total
