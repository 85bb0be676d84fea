"""Pages: what they say is what the records say, by another way; and those that are kept are of today's records."""

import math
import re
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

import pytest

from recipes.laboratory import critic, figures, report, tables
from recipes.laboratory.compared import Comparison
from recipes.laboratory.plan import Run
from tests.recipes.laboratory.light import right_of
from tests.recipes.laboratory.made import QUESTION, recorded

#: Student's t, 97.5th percentile with 2 degrees of freedom.
T2 = 4.302653
Made = Callable[..., Comparison]


def row(table: str, name: str) -> list[str]:
    """The cells of the row of a name."""
    (line,) = [line for line in table.splitlines() if re.match(rf"\| {name} +\|", line)]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def heads(table: str) -> list[str]:
    return [cell.strip() for cell in table.splitlines()[0].strip("|").split("|")][1:]


def cell(table: str, name: str, head: str) -> str:
    return row(table, name)[heads(table).index(head)]


def finals(method: str, samples: int = 16) -> list[list[int]]:
    """How many samples of each problem are right at the end of seeds 0, 1 and 2."""
    return [right_of({"method": method, "lr": 2e-4, "seed": seed}, samples, 4) for seed in range(3)]


def test_where_the_runs_ended(made: Made) -> None:
    table = tables.finals(made())
    ones = [fmean(right) / 16 for right in finals("pacs")]
    half = T2 * stdev(ones) / math.sqrt(3)
    assert cell(table, "never", "pass@1") == f"{fmean(ones):.3f} ± {half:.3f}"
    eights = [fmean(1 - math.comb(16 - c, 8) / math.comb(16, 8) for c in right) for right in finals("grpo")]
    assert cell(table, "grpo", "pass@8").startswith(f"{fmean(eights):.3f} ± ")
    assert cell(table, "grpo", "seeds") == "3"
    assert cell(table, "grpo", "minutes") == "2.000"
    assert cell(table, "grpo", "thousand tokens") == "0.400"
    assert "pass@64" not in table
    assert "right entropy" not in table, "no run has a value of it"


def test_learning_rates_are_all_shown_and_the_chosen_one_is_marked(made: Made) -> None:
    def record(run: Run) -> dict[str, Any]:
        failed = run.settings.method == "grpo" and (run.settings.lr, run.settings.seed) == (2e-4, 101)
        return recorded(run, cause="killed by SIGKILL") if failed else recorded(run)

    comparison = made(record)
    table = tables.learning_rates(comparison)
    each = [fmean(right_of({"method": "pacs", "lr": 2e-4, "seed": seed}, 8, 4)) / 8 for seed in (100, 101)]
    assert cell(table, "never", "0.0002") == f"**{fmean(each):.3f}** ({each[0]:.3f}, {each[1]:.3f})"
    assert cell(table, "never", "chosen") == "0.0002"
    assert cell(table, "grpo", "0.0002").endswith("failed)")
    assert cell(table, "grpo", "chosen") == "0.0004, **highest of its grid**"
    page = report.page(comparison)
    assert "- grpo (tuning), lr 0.0002, seed 101: `killed by SIGKILL`\n" in page


def test_differences_from_the_baseline(made: Made) -> None:
    from scipy.stats import ttest_ind

    comparison = made()
    table = tables.differences(comparison)
    ours, theirs = ([fmean(right) / 16 for right in finals(method)] for method in ("pacs", "grpo"))
    test = ttest_ind(ours, theirs, equal_var=False)
    low, high = test.confidence_interval()
    assert cell(table, "never", "pass@1") == f"+{fmean(ours) - fmean(theirs):.3f} [+{low:.3f}, +{high:.3f}]"
    eights = [
        [fmean(1 - math.comb(16 - c, 8) / math.comb(16, 8) for c in right) for right in finals(method)]
        for method in ("pacs", "grpo")
    ]
    ps = sorted([test.pvalue, ttest_ind(*eights, equal_var=False).pvalue])
    corrected = [min(1, 2 * ps[0]), min(1, max(2 * ps[0], ps[1]))]
    shown = {cell(table, "never", f"pass@{k}: p (Holm)") for k in (1, 8)}
    assert shown == {"< .0001" if p < 1e-4 else f"{p:.4f}" for p in corrected}
    assert "grpo " not in table.split("\n", 2)[2]
    assert "Welch's t-test" in report.page(comparison)


def test_pairs_only_where_the_question_says_so(made: Made) -> None:
    """Of runs that differ by the same in each seed a pair's interval has no width."""
    comparison = made(text="pairs: true\n" + QUESTION)
    shown = cell(tables.differences(comparison), "never", "pass@1")
    ours, theirs = ([fmean(right) / 16 for right in finals(method)] for method in ("pacs", "grpo"))
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    half = T2 * stdev(differences) / math.sqrt(3)
    mean = fmean(differences)
    assert shown == f"+{mean:.3f} [+{mean - half:.3f}, +{mean + half:.3f}]"
    assert "the t-test of pairs" in report.page(comparison)


def test_by_difficulty(made: Made) -> None:
    table = tables.by_band(made(), 1)
    easy = [fmean(right[:3]) / 16 for right in finals("grpo")]
    assert heads(table) == ["easy (3)", "hard (3)"]
    assert cell(table, "grpo", "easy (3)").startswith(f"{fmean(easy):.3f} ± ")


def test_at_equal_pass_at_1(made: Made) -> None:
    """The levels are where the worse of two arms ends, and halfway to it from the start."""
    comparison = made()
    low, high = tables.levels(comparison)
    ends = fmean(fmean(right) / 16 for right in finals("grpo"))
    first = fmean(right_of({}, 8, 0)) / 8
    assert (low, high) == (round(first + (ends - first) / 2, 3), round(ends, 3))
    there = sum(fmean(right) / 16 >= high for right in finals("grpo"))
    assert cell(tables.at_level(comparison, high), "grpo", "seeds there") == f"{there} of 3"
    table = tables.at_level(comparison, low)
    minutes = []
    for seed in range(3):
        run = {"method": "grpo", "lr": 2e-4, "seed": seed}
        ones = [fmean(right_of(run, samples, step)) / samples for samples, step in ((8, 0), (8, 2), (16, 4))]
        place = next(i for i, one in enumerate(ones) if one >= low)
        minutes.append((place - 1 + (low - ones[place - 1]) / (ones[place] - ones[place - 1])) * 2 * 30 / 60)
    assert cell(table, "grpo", "seeds there") == f"{len(minutes)} of 3"
    assert cell(table, "grpo", "minutes").startswith(f"{fmean(minutes):.3f}")
    assert cell(tables.at_level(comparison, first / 2), "grpo", "minutes").startswith("≤ ")


def test_the_bar_that_each_seed_is_to_reach(made: Made) -> None:
    least = sorted(fmean(right) / 16 for right in finals("pacs"))[1]
    comparison = made(text=f"bar: {{measure: pass@1, at_least: {least}}}\n" + QUESTION)
    table = tables.bar(comparison)
    assert row(table, "never")[0] == "2 of 3"
    assert row(table, "grpo")[0] == "0 of 3"
    assert tables.bar(made()) == ""


def test_the_frontier(made: Made) -> None:
    """Through learning rates on the problems that tune, through steps on the others."""
    comparison = made()
    grpo = next(arm for arm in comparison.arms if arm.name == "grpo")
    line = figures.through_rates(grpo, 8)
    ones = [
        fmean(fmean(right_of({"method": "grpo", "lr": lr, "seed": s}, 8, 4)) / 8 for s in (100, 101))
        for lr in (1e-4, 2e-4, 4e-4)
    ]
    assert [x for x, _ in line] == pytest.approx(ones)
    steps = figures.through_steps(grpo, 8)
    assert [len(each) for each in steps] == [3, 3, 3]
    assert steps[1][-1][0] == pytest.approx(fmean(finals("grpo")[1]) / 16)
    assert figures.frontier(comparison).startswith(b"\x89PNG")


def test_what_the_critic_knows(made: Made) -> None:
    """Two bins over all seeds: 30 responses at .2 of which 15 were right, 60 at .8 of which 45 were."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.settings.method == "pacs":
            one["result"]["calibration"] = [[10, 2.0, 5, 12.0, 9.0], [20, 16.0, 15, 18.0, 9.0]]
            one["result"]["curve"] |= {"residual_mean": [0.5, 0.4, 0.3, 0.2 + run.settings.seed / 100]}
        return one

    comparison = made(record)
    table = critic.calibration(comparison)
    assert row(table, "never") == ["0.133", "0.383", "0.50 (33%)", "0.75 (67%)"]
    assert "grpo" not in table
    assert (30 * abs(0.2 - 0.5) + 60 * abs(0.8 - 0.75)) / 90 == pytest.approx(0.1333, abs=1e-4)
    assert (30 * abs(0.2 - 0.75) + 60 * abs(0.8 - 0.5)) / 90 == pytest.approx(0.3833, abs=1e-4)
    signals = critic.signals(comparison)
    assert cell(signals, "never", "residual").startswith("0.500 → 0.210 ± ")
    assert cell(signals, "grpo", "residual") == "–"
    assert "critic's ranking" not in signals
