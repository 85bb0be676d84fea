"""Comparisons of arms: with whom, by which test, corrected for how many, and of how many seeds at least."""

import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev

import pytest

from recipes.laboratory import differences, report
from recipes.laboratory.compared import Comparison, compare
from recipes.laboratory.plan import jobs
from recipes.laboratory.statistics import difference, holm, over_seeds_and_problems
from tests.recipes.laboratory.cells import T2, cell, finals, row
from tests.recipes.laboratory.made import QUESTION, ask, recorded, records_of

Made = Callable[..., Comparison]
FIVE = QUESTION.replace("[0, 1, 2]", "[0, 1, 2, 3, 4]")
MORE = """\
  rloo: {method: rloo}
  stale: {method: rloo, staleness: 1, compare_with: rloo}
"""


def test_differences_from_the_baseline(made: Made) -> None:
    from scipy.stats import ttest_ind

    comparison = made()
    table = differences.tables(comparison)["grpo"]
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
    shown = cell(differences.tables(comparison)["grpo"], "never", "pass@1")
    ours, theirs = ([fmean(right) / 16 for right in finals(method)] for method in ("pacs", "grpo"))
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    half = T2 * stdev(gaps) / math.sqrt(3)
    mean = fmean(gaps)
    assert shown == f"+{mean:.3f} [+{mean - half:.3f}, +{mean + half:.3f}]"
    assert "the t-test of pairs" in report.page(comparison)


def test_several_baselines_have_a_table_each_and_one_correction(made: Made) -> None:
    """An arm with a comparison of its own has that alone, and p-values are corrected for all of the page."""
    comparison = made(text=QUESTION.replace("[grpo]", "[grpo, never]") + MORE)
    found = differences.tables(comparison)
    names = {base: [line.split("|")[1].strip() for line in table.splitlines()[2:]] for base, table in found.items()}
    assert names == {"grpo": ["never", "rloo"], "never": ["rloo"], "rloo": ["stale"]}
    arms = {arm.name: arm.finals for arm in comparison.arms}
    pairs = [(ours, base, k) for base in names for ours in names[base] for k in (1, 8)]
    each = [difference(arms[a][f"pass@{k}"], arms[b][f"pass@{k}"], pairs=False) for a, b, k in pairs]
    corrected = holm([one.p for one in each if one and one.p is not None])
    assert [one.p for one in differences.compares(comparison)] == pytest.approx(corrected)
    assert len(corrected) == 8
    page = report.page(comparison)
    for base in names:
        assert f"## Against {base}\n\nEach arm minus {base}, " in page
    assert page.count("corrected for all 8 comparisons of this\npage") == 3


def test_too_few_seeds_have_no_p_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seeds of each arm are there: a difference, and nothing that looks like a conclusion."""
    question = ask(tmp_path / "questions", monkeypatch)
    there = [job.run for job in jobs(question, "countdown", recorded) if job.run.settings.seed != 2]
    comparison = compare(question, "countdown", records_of(tmp_path / "results", *map(recorded, there)))
    table = differences.tables(comparison)["grpo"]
    assert cell(table, "never", "pass@1").startswith("+")
    assert {cell(table, "never", f"pass@{k}: p (Holm)") for k in (1, 8)} == {"–"}
    assert "**Not complete: 2 runs are missing; nothing is concluded yet.**" in report.page(comparison)


def test_the_bootstrap_is_of_five_seeds_at_least(made: Made) -> None:
    comparison = made()
    assert cell(differences.tables(comparison)["grpo"], "never", "pass@1: seeds and problems") == "–"
    assert differences.choice_of_problems(comparison) == ""
    assert "## Seeds and problems" not in report.page(comparison)


def test_the_bootstrap_draws_problems_in_their_bands(made: Made) -> None:
    comparison = made(text=FIVE)
    never, grpo = comparison.arms
    bands = [[0, 1, 2], [3, 4, 5]]
    alone = over_seeds_and_problems(grpo.table(1), bands=bands)
    assert row(differences.choice_of_problems(comparison), "grpo")[0] == (
        f"{alone.mean:.3f} [{alone.low:.3f}, {alone.high:.3f}]"
    )
    both = over_seeds_and_problems(never.table(1), grpo.table(1), bands=bands)
    shown = cell(differences.tables(comparison)["grpo"], "never", "pass@1: seeds and problems")
    assert shown == f"[+{both.low:.3f}, +{both.high:.3f}]"
    assert alone != over_seeds_and_problems(grpo.table(1), bands=[range(6)])


def test_problems_of_each_seed_s_own_are_not_drawn_for_all(made: Made) -> None:
    comparison = made(text="own_starts: true\n" + FIVE)
    assert cell(differences.tables(comparison)["grpo"], "never", "pass@1: seeds and problems") == "–"
    assert differences.choice_of_problems(comparison) == ""
