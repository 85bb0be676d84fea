"""Pages: what they say is what the records say, by another way; and those that are kept are of today's records."""

import math
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

import pytest

from recipes.laboratory import critic, differences, figures, frontiers, report, tables
from recipes.laboratory.compared import Comparison
from recipes.laboratory.plan import Run
from tests.recipes.laboratory.cells import T2, cell, finals, heads, row
from tests.recipes.laboratory.light import right_of
from tests.recipes.laboratory.made import QUESTION, recorded

Made = Callable[..., Comparison]


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


def test_by_difficulty(made: Made) -> None:
    table = tables.by_band(made(), 1)
    easy = [fmean(right[:3]) / 16 for right in finals("grpo")]
    assert heads(table) == ["easy (3)", "hard (3)"]
    assert cell(table, "grpo", "easy (3)").startswith(f"{fmean(easy):.3f} ± ")


def test_differences_by_difficulty_are_welch_s(made: Made) -> None:
    table = differences.by_band(made())
    from scipy.stats import ttest_ind

    ours, theirs = ([fmean(right[3:]) / 16 for right in finals(name)] for name in ("pacs", "grpo"))
    interval = ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    expected = [f"{value:+.3f}".replace("-", "−") for value in (fmean(ours) - fmean(theirs), *interval)]
    assert cell(table, "never", "hard") == f"{expected[0]} [{expected[1]}, {expected[2]}]"
    assert heads(table) == ["easy", "hard"]
    assert "grpo" not in table


def test_the_frontier_as_tables(made: Made) -> None:
    comparison = made()
    steps = frontiers.by_step(comparison)
    assert heads(steps) == ["step 2", "step 4"]
    ones = [fmean(right) / 16 for right in finals("grpo")]
    half = T2 * stdev(ones) / math.sqrt(3)
    one, eight = cell(steps, "grpo", "step 4").split("; ")
    assert one == f"{fmean(ones):.3f} ± {half:.3f}"
    assert eight == cell(tables.finals(comparison), "grpo", "pass@8")
    middle = [fmean(right_of({"method": "grpo", "lr": 2e-4, "seed": seed}, 8, 2)) / 8 for seed in range(3)]
    assert cell(steps, "grpo", "step 2").startswith(f"{fmean(middle):.3f} ± ")
    rates = frontiers.by_rate(comparison)
    each = [fmean(right_of({"method": "pacs", "lr": 2e-4, "seed": seed}, 8, 4)) / 8 for seed in (100, 101)]
    assert cell(rates, "never", "0.0002").startswith(f"{fmean(each):.3f} ± ")


def test_problems_not_solved_at_the_start(made: Made) -> None:
    """The third is solved before training by one run alone; the second and the fifth by none."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.evaluation.split == "test":
            first, last = one["result"]["evaluations"][0], one["result"]["evaluations"][-1]
            first["right"] = [3, 0, int(run.settings.seed == 1 and run.settings.method == "grpo"), 4, 0, 8]
            last["right"] = [9, 4, 0, 9, 8 * run.settings.seed, 9]
        return one

    number, table = tables.never_solved(made(record))
    ones = [fmean([4, 8 * seed]) / 16 for seed in range(3)]
    assert number == 2
    assert cell(table, "never", "solved in 16 samples").startswith(f"{fmean([0.5, 1, 1]):.3f} ± ")
    assert cell(table, "grpo", "pass@1").startswith(f"{fmean(ones):.3f} ± ")
    assert "Of the 2 problems that no run had right once in its evaluation before training (8 samples of each)" in (
        report.page(made(record))
    )
    assert tables.never_solved(made(record, text="own_starts: true\n" + QUESTION)) == (0, "")
    assert "not solved at the start" not in report.page(made())


def test_runs_that_were_not_evaluated_before_training_have_nothing_told_of_their_start(made: Made) -> None:
    """Of two problems no sample is right at the end, which is their only evaluation."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        one["result"]["evaluations"][-1]["right"][:2] = [0, 0]
        return one

    comparison = made(record, text=QUESTION.replace(", evaluate_every: 2", ""))
    assert tables.never_solved(comparison) == (0, "")
    assert tables.levels(comparison) == []
    assert figures.frontier(comparison)


def test_at_equal_pass_at_1(made: Made) -> None:
    """The levels are where the worst run of two arms ends, so that all get there, and halfway to it from the start."""
    comparison = made()
    low, high = tables.levels(comparison)
    lowest = min(fmean(right) / 16 for right in finals("grpo"))
    first = fmean(right_of({}, 8, 0)) / 8
    assert high == pytest.approx(lowest, abs=1e-3)
    assert high <= lowest
    assert low == pytest.approx(first + (lowest - first) / 2, abs=1e-3)
    for name in ("grpo", "never"):
        assert cell(tables.at_level(comparison, high), name, "seeds there") == "3 of 3"
    table = tables.at_level(comparison, low)
    minutes, by_first = [], [0, 0]
    for seed in range(3):
        run = {"method": "grpo", "lr": 2e-4, "seed": seed}
        ones = [fmean(right_of(run, samples, step)) / samples for samples, step in ((8, 0), (8, 2), (16, 4))]
        place = next(i for i, one in enumerate(ones) if one >= low)
        by_first = [count + (ones[1] >= level) for count, level in zip(by_first, (low, high), strict=True)]
        minutes.append((place - 1 + (low - ones[place - 1]) / (ones[place] - ones[place - 1])) * 2 * 30 / 60)
    assert cell(table, "grpo", "seeds there") == f"{len(minutes)} of 3"
    assert [cell(tables.at_level(comparison, level), "grpo", "by the first") for level in (low, high)] == [
        str(count) for count in by_first
    ]
    assert by_first[0] > by_first[1]
    assert cell(table, "grpo", "minutes").startswith(f"{fmean(minutes):.3f}")
    assert cell(tables.at_level(comparison, first / 2), "grpo", "minutes").startswith("≤ ")


def test_what_has_collapsed_has_no_part_in_the_level(made: Made) -> None:
    """An arm that gained nothing in the mean, while a run that did in one that gained keeps its say."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        last = one["result"]["evaluations"][-1]
        if run.evaluation.split == "test" and run.settings.method == "grpo":
            last["right"] = [2] * 6
        return one

    comparison = made(record)
    lowest = min(fmean(right) / 16 for right in finals("pacs"))
    assert tables.levels(comparison)[1] == pytest.approx(lowest, abs=1e-3)
    assert cell(tables.at_level(comparison, lowest), "grpo", "seeds there") == "0 of 3"


def test_starts_of_their_own_have_no_level_in_common(made: Made) -> None:
    assert tables.levels(made(text="own_starts: true\n" + QUESTION)) == []


def failing(method: str, *seeds: int) -> Callable[[Run], dict[str, Any]]:
    """Records of which those of a method and these seeds say that the run failed."""

    def record(run: Run) -> dict[str, Any]:
        fails = run.settings.method == method and run.settings.seed in seeds
        return recorded(run, cause="not finite") if fails else recorded(run)

    return record


def test_runs_that_failed_are_counted(made: Made) -> None:
    """In the number of seeds, as not having reached the bar, and as not having reached a level."""
    comparison = made(failing("pacs", 1), text="bar: {measure: pass@1, at_least: 0.0}\n" + QUESTION)
    ended = tables.finals(comparison)
    assert cell(ended, "never", "seeds") == "2 of 3, 1 failed"
    assert cell(ended, "grpo", "seeds") == "3"
    assert row(tables.bar(comparison), "never")[:2] == ["2 of 3", "failed"]
    assert row(tables.bar(comparison), "grpo")[0] == "3 of 3"
    assert cell(tables.at_level(comparison, 0.0), "never", "seeds there") == "2 of 3"
    assert "A run that failed is in no mean" in report.page(comparison)


def test_an_arm_whose_runs_have_all_failed_is_not_left_out(made: Made) -> None:
    comparison = made(failing("pacs", 0, 1, 2), text="bar: {measure: pass@1, at_least: 0.0}\n" + QUESTION)
    assert row(tables.finals(comparison), "never")[:2] == ["0 of 3, 3 failed", "–"]
    assert row(tables.bar(comparison), "never") == ["0 of 3", "failed", "–"]
    assert "## Against" not in report.page(comparison)
    both = made(
        lambda run: failing("grpo", 0, 1, 2)(run) if run.settings.method == "grpo" else failing("pacs", 0, 1, 2)(run)
    )
    assert "0 of 3, 3 failed" in report.page(both)


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
    line = figures.through_rates(grpo, 8, {"pass@1": 0.0, "pass@8": 0.0})
    ones = [
        fmean(fmean(right_of({"method": "grpo", "lr": lr, "seed": s}, 8, 4)) / 8 for s in (100, 101))
        for lr in (1e-4, 2e-4, 4e-4)
    ]
    assert [x for x, _ in line] == pytest.approx(ones)
    eights = [y for _, y in line]
    for start, kept in (
        ({"pass@1": min(ones) + 1e-9, "pass@8": 0.0}, [x for x in ones if x > min(ones)]),
        ({"pass@1": 0.0, "pass@8": 2 * min(eights) + 1e-9}, [x for x, y in line if y > min(eights)]),
    ):
        assert [x for x, _ in figures.through_rates(grpo, 8, start)] == pytest.approx(kept), "the policy was destroyed"
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
            one["result"]["curve"] |= {"explained_variance": [0.0, 0.1, None, 0.3 + run.settings.seed / 100]}
        return one

    comparison = made(record)
    table = critic.calibration(comparison)
    assert row(table, "never") == ["0.133 ± 0.000", "0.383 ± 0.000", "0.50 ± 0.00 (33%)", "0.75 ± 0.00 (67%)"]
    assert "grpo" not in table
    assert (30 * abs(0.2 - 0.5) + 60 * abs(0.8 - 0.75)) / 90 == pytest.approx(0.1333, abs=1e-4)
    assert (30 * abs(0.2 - 0.75) + 60 * abs(0.8 - 0.5)) / 90 == pytest.approx(0.3833, abs=1e-4)
    signals = critic.signals(comparison)
    assert cell(signals, "never", "residual").startswith("0.500 → 0.210 ± ")
    assert cell(signals, "grpo", "residual") == "–"
    assert cell(signals, "never", "explained variance").startswith("0.000 → 0.310 ± ")
    assert cell(signals, "grpo", "explained variance") == "–"
    assert cell(signals, "never", "resets") == "0.000"
    assert "critic's ranking" not in signals
    assert critic.by_rate(comparison) == ""


@pytest.mark.parametrize("empty", [{0}, {0, 1}, {0, 1, 2}])
def test_calibration_with_seeds_that_had_no_mixed_group(made: Made, empty: set[int]) -> None:
    """One of three leaves the intervals; of one seed alone there is none, and of none no row."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.settings.method == "pacs":
            full = [[10, 2.0, 5, 12.0, 9.0], [20, 16.0, 15, 18.0, 9.0]]
            one["result"]["calibration"] = [[0, 0.0, 0, 0.0, 0.0]] * 2 if run.settings.seed in empty else full
        return one

    table = critic.calibration(made(record))
    expected = {1: "0.50 ± 0.00 (33%)", 2: "0.50 (33%)"}
    assert (row(table, "never")[2] == expected[len(empty)]) if len(empty) in expected else table == ""


def test_the_critic_at_each_learning_rate(made: Made) -> None:
    """The last of four points of the runs that tuned, over their two seeds."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.settings.method == "pacs":
            last = 1000 * run.settings.lr + (run.settings.seed == 101) / 10
            one["result"]["curve"] |= {"critic_accuracy": [None, 0.5, 0.6, last], "critic_brier": [0.3, 0.3, 0.3, 0.25]}
        return one

    table = critic.by_rate(made(record))
    # 12.706 is the 97.5th percentile of Student's t with one degree of freedom; the two seeds are .1 apart.
    assert row(table, "never") == [f"{mean} ± {12.706 * 0.05:.3f}; 0.250" for mean in ("0.150", "0.250", "0.450")]
    assert "grpo" not in table


def test_who_has_more_rollouts_is_also_compared_at_equal_ones(made: Made) -> None:
    """Twice as many: halfway between the evaluations after steps 0, 2 and 4 lies the one after step 2."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.settings.method == "pacs" and run.settings.seed < 100:
            for evaluation in one["result"]["evaluations"]:
                evaluation["rollouts"] *= 2
        return one

    comparison = made(record)
    fewest, table = tables.at_cost(comparison, "rollouts")
    assert fewest == 16
    after_2 = [fmean(right_of({"method": "pacs", "lr": 2e-4, "seed": seed}, 8, 2)) / 8 for seed in range(3)]
    assert cell(table, "never", "pass@1").startswith(f"{fmean(after_2):.3f}")
    assert cell(table, "grpo", "pass@1") == cell(tables.finals(comparison), "grpo", "pass@1")
    assert "## At 16 rollouts" in report.page(comparison)
    assert tables.at_cost(made(), "rollouts")[1] == ""
    assert "rollouts\n" not in report.page(made())


@pytest.mark.parametrize(("longer", "told"), [(2, True), (1.06, True), (1.04, False)])
def test_who_generated_more_tokens_is_also_compared_at_equal_ones(longer: float, told: bool, made: Made) -> None:
    """At equal rollouts. The evaluations are after 200 and 400 tokens, times `longer`."""

    def record(run: Run) -> dict[str, Any]:
        one = recorded(run)
        if run.settings.method == "pacs" and run.settings.seed < 100:
            for evaluation in one["result"]["evaluations"]:
                evaluation["tokens"] *= longer
        return one

    comparison = made(record)
    assert tables.at_cost(comparison, "rollouts")[1] == ""
    page, title = report.page(comparison), "## At 0 thousand tokens"  # 400 of them
    assert (title in page) == told
    if not told:
        return
    between = page[page.index(title) :].split("\n\n")[2]
    ends = [
        [fmean(right_of({"method": "pacs", "lr": 2e-4, "seed": seed}, samples, step)) / samples for seed in range(3)]
        for samples, step in ((8, 2), (16, 4))
    ]
    share = (400 - 200 * longer) / (200 * longer)
    expected = fmean(before + share * (after - before) for before, after in zip(*ends, strict=True))
    assert cell(between, "never", "pass@1").startswith(f"{expected:.3f}")
    assert cell(between, "never", "thousand tokens") == "0.400"
    assert cell(between, "grpo", "pass@1") == cell(tables.finals(comparison), "grpo", "pass@1")
