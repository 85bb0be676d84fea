"""Support along a run: counts by naive loops, intervals against scipy's bootstrap, and what does not change them."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import bootstrap

from pacs.base.statistics import Estimate, estimate
from pacs.diversity.curves import Along, all_together, along
from pacs.diversity.folders import Marks
from pacs.diversity.support_document import Comparison, meaning

KS, STEPS = [8, 2], [10, 20, 30]


def draw_marks(seed: int, problems: int = 60, samples: int = 8) -> dict[int, dict[str, list[bool]]]:
    """Samples of the initial policy (0) and of three checkpoints; some problems are easy, some are never solved."""
    generator = random.Random(seed)
    easy = {f"p{i}": generator.choice([0.0, 0.05, 0.2, 0.8]) for i in range(problems)}
    return {
        step: {name: [generator.random() < chance for _ in range(samples)] for name, chance in easy.items()}
        for step in (0, *STEPS)
    }


def of(marks: dict[int, dict[str, list[bool]]], name: str = "sums", least: int = 1) -> Along:
    return along(name, marks[0], {step: marks[step] for step in marks if step}, KS, least)


def naive(initial: Marks, trained: Marks, k: int, least: int) -> tuple[int, int, int, int]:
    kept = gained = lost = neither = 0
    for name in initial:
        before = [mark for index, mark in enumerate(initial[name]) if index < k].count(True) >= least
        after = [mark for index, mark in enumerate(trained[name]) if index < k].count(True) >= least
        if before and after:
            kept += 1
        elif after:
            gained += 1
        elif before:
            lost += 1
        else:
            neither += 1
    return kept, gained, lost, neither


@pytest.mark.parametrize("least", [1, 2])
def test_counts_and_metrics_by_naive_loops(least: int) -> None:
    marks = draw_marks(seed=least)
    found = of(marks, least=least)
    assert [*found.at] == [2, 8]
    assert found.k == 8
    for k, curve in found.at.items():
        assert [*curve.points] == STEPS
        for step, point in curve.points.items():
            kept, gained, lost, neither = naive(marks[0], marks[step], k, least)
            assert tuple(map(len, point.support)) == (kept, gained, lost, neither)
            assert min(kept, gained, lost, neither) > 0
            retained, discovered = kept / (kept + lost), gained / (kept + gained)
            assert {name: value.mean for name, value in point.metrics.items() if value} == pytest.approx(
                {
                    "SRR": retained,
                    "NDR": discovered,
                    "SDS": 2 / (1 / retained + 1 / discovered),
                    "NSCR": (gained - lost) / (60 - neither),
                }
            )
    assert found.right == {name: [sum(marks[step][name]) for step in (0, *STEPS)] for name in marks[0]}


def ends(value: Estimate | None) -> tuple[float, float]:
    assert value is not None
    return value.low, value.high


def test_intervals_are_those_of_the_paired_bootstrap() -> None:
    """scipy's, which draws other problems: the ends agree within the noise of 10,000 draws."""
    marks = draw_marks(seed=3)
    curve = of(marks).at[8]
    solved = {step: np.array([any(some) for some in marks[step].values()]) for step in marks}
    for step, point in curve.points.items():
        lost = solved[0] & ~solved[step]
        share = estimate(lost)
        assert point.shares["lost"].mean == share.mean
        assert ends(point.shares["lost"]) == pytest.approx(ends(share), abs=0.02)

    def retention(before: np.ndarray, *after: np.ndarray, axis: int) -> np.ndarray:
        first, last = ((before & each).sum(axis) / before.sum(axis) for each in after)
        return last - first

    data = (solved[0], solved[10], solved[30])
    expected = bootstrap(data, retention, paired=True, method="percentile", n_resamples=10_000, rng=1)
    change = curve.change["SRR"]
    assert change is not None
    assert change.mean == pytest.approx(retention(*data, axis=0))
    assert ends(change) == pytest.approx(tuple(expected.confidence_interval), abs=0.02)


def test_what_else_is_compared_changes_no_number() -> None:
    marks = draw_marks(seed=4)
    once, again = of(marks), of(marks)
    assert once.at == again.at
    without = along("sums", marks[0], {20: marks[20]}, [8])
    assert without.at[8].points[20] == once.at[8].points[20]
    assert without.at[8].change == dict.fromkeys(["SRR", "NDR", "SDS", "NSCR"])


def test_tasks_of_one_size_are_drawn_independently() -> None:
    """The same problems twice, as two tasks: the interval is narrower by the root of 2. Drawn as one it would stay."""
    marks = draw_marks(seed=5)
    one, two = of(marks, "first"), of(marks, "second")
    both = all_together([one, two])[8].points[30]
    assert tuple(map(len, both.support)) == tuple(2 * len(part) for part in one.at[8].points[30].support)
    low, high = ends(both.shares["kept"])
    alone = ends(one.at[8].points[30].shares["kept"])
    assert (alone[1] - alone[0]) / (high - low) == pytest.approx(2**0.5, rel=0.1)


def test_tasks_together_have_the_ks_that_all_have() -> None:
    marks = draw_marks(seed=6)
    few = along("few", marks[0], {step: marks[step] for step in STEPS}, [4, 2])
    assert [*all_together([of(marks), few])] == [2]


def cases_without_a_metric() -> Iterator[tuple[list[bool], list[bool], list[str]]]:
    yield [False], [False], ["SRR", "NDR", "SDS", "NSCR"]
    yield [True], [False], ["NDR", "SDS"]
    yield [False], [True], ["SRR", "SDS"]
    yield [True], [True], []


@pytest.mark.parametrize(("initial", "trained", "absent"), cases_without_a_metric())
def test_what_is_not_defined_is_absent(initial: list[bool], trained: list[bool], absent: list[str]) -> None:
    point = along("sums", {"a": initial, "b": initial}, {1: {"a": trained, "b": trained}}, [1]).at[1].points[1]
    assert [name for name, value in point.metrics.items() if value is None] == absent
    assert all(value.low == value.mean == value.high for value in point.metrics.values() if value)


def test_draws_in_which_nothing_is_divided_by_are_left_out() -> None:
    """One problem of three is solved: some draws have none of it."""
    initial = {"a": [True], "b": [False], "c": [False]}
    point = along("sums", initial, {1: initial}, [1]).at[1].points[1]
    assert point.metrics["SRR"] == Estimate(1.0, 1.0, 1.0)
    assert point.shares["kept"].mean == pytest.approx(1 / 3)
    assert ends(point.shares["kept"]) == (0.0, 1.0)


@pytest.mark.parametrize(("problems", "kept", "is_said"), [(1, 0, False), (40, 20, True)])
def test_of_one_problem_nothing_is_said_of_others(problems: int, kept: int, is_said: bool) -> None:
    """Step 10 solves what the first policy does, step 20 so many of them; of one problem each draw is the same."""
    initial = {str(number): [True] for number in range(problems)}
    later = {name: [int(name) < kept] for name in initial}
    result = along("sums", initial, {10: initial, 20: later}, [1])
    said = meaning(Comparison("", "the first", [], {}, {"sums": result}, {}, 1), "sums")
    assert "From step 10 to step 20 it changes SRR by -" in said
    assert ("more than the choice of problems explains" in said) is is_said
