"""Tables of what a run's own steps say: its signals, and what the implicit critic knows of right and wrong."""

from collections.abc import Sequence
from statistics import fmean

from pacs.base.markdown import ABSENT, table
from recipes.laboratory.compared import Compared, Comparison
from recipes.laboratory.tables import plus_minus

#: Keys of a curve's points, and what the table calls them.
SIGNALS = {
    "reward": "share right",
    "entropy": "entropy",
    "gradient_norm": "gradient norm",
    "mixed_groups_fraction": "mixed groups",
    "log_ratio_mean": "log-ratio",
    "residual_mean": "residual",
    "critic_accuracy": "critic's ranking",
    "critic_brier": "critic's Brier",
    "group_mean_brier": "group mean's Brier",
}


def signals(comparison: Comparison) -> str:
    """Each signal's mean over the first and over the last quarter of the points of the curves."""
    arms = comparison.with_runs
    shown = [key for key in SIGNALS if any(_quarter(arm, key, 0) for arm in arms)]
    rows = [[arm.name, *(_text(arm, key) for key in shown)] for arm in arms]
    return table(["arm", *(SIGNALS[key] for key in shown)], rows)


def _text(arm: Compared, key: str) -> str:
    first, last = _quarter(arm, key, 0), _quarter(arm, key, -1)
    return f"{fmean(first):.3f} → {plus_minus(last)}" if first else ABSENT


def _quarter(arm: Compared, key: str, place: int) -> list[float]:
    """A value a seed that has any: the mean over the first quarter of a run's points (0) or over the last (-1)."""
    means = []
    for result in arm.runs.values():
        column = result["curve"].get(key, [])
        length = max(1, len(column) // 4)
        values = [value for value in (column[:length] if place == 0 else column[-length:]) if value is not None]
        means += [fmean(values)] if values else []
    return means


def calibration(comparison: Comparison) -> str:
    """Of the responses of mixed groups, how many of each range of sigma(psi) were right; empty where none is known.

    And how far sigma(psi) is from that, once as it is and once with the classes of each group balanced.
    """
    rows = []
    heads: list[str] = []
    for arm in comparison.with_runs:
        bins = summed([r["calibration"] for r in arm.runs.values() if r.get("calibration")])
        if bins:
            heads = [f"{i / len(bins):g} to {(i + 1) / len(bins):g}" for i in range(len(bins))]
            total = sum(each[0] for each in bins)
            cells = [
                f"{right / count:.2f} ({count / total:.0%})" if count else ABSENT for count, _, right, _, _ in bins
            ]
            rows.append([arm.name, *(f"{error:.3f}" for error in calibration_errors(bins)), *cells])
    return table(["arm", "error", "error, balanced", *heads], rows) if rows else ""


def summed(tables: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """The bins of several runs added up, as `signals.Calibration.bins` has them."""
    return [[sum(column) for column in zip(*bins, strict=True)] for bins in zip(*tables, strict=True)]


def calibration_errors(bins: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over responses of |mean sigma(psi) of its bin - share of right ones|; and with balanced classes."""
    total = sum(each[0] for each in bins)
    plain = sum(abs(score - right) for _, score, right, _, _ in bins) / total
    balanced = sum(count * abs(score / count - right / weight) for count, score, _, weight, right in bins if count)
    return plain, balanced / total
