"""What runs are compared by: the interval over seeds against SciPy's own test, and the order of measures."""

from itertools import product

import pytest
from scipy.stats import ttest_1samp

from pacs.sweeps.measures import KINDS, mean_of, of_run, of_setting, over_seeds
from pacs.sweeps.table import _cell, reading


@pytest.mark.parametrize("values", [[0.2, 0.5], [0.9, 0.91, 0.95], [0.1, 0.2, 0.3, 0.4, 0.9]])
def test_the_interval_over_seeds_is_that_of_the_t_test(values: list[float]) -> None:
    interval = ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = over_seeds(values)
    assert (found["n"], found["interval"]) == (len(values), "seeds")
    assert [found["low"], found["high"]] == pytest.approx([interval.low, interval.high])


def test_two_seeds_by_the_printed_table() -> None:
    """t of one degree of freedom is 12.706; the standard error of 0.4 and 0.6 is 0.1."""
    found = over_seeds([0.4, 0.6])
    assert found["high"] - found["mean"] == pytest.approx(12.706 * 0.1, rel=1e-4)


def test_one_seed_has_no_interval() -> None:
    assert over_seeds([0.3]) == {"n": 1, "mean": 0.3, "low": None, "high": None, "interval": None}


def run(mean: float, *, state: str = "finished", low: float | None = None, high: float | None = None) -> dict:
    return {"state": state, "measures": {"math500 pass@1": {"mean": mean, "low": low, "high": high}}}


def test_only_finished_runs_count() -> None:
    found = of_setting([run(0.2), run(0.4), run(0.9, state="failed"), run(0.9, state="stopped")])
    assert found == {"math500 pass@1": over_seeds([0.2, 0.4])}


def test_one_run_has_the_interval_over_problems_that_its_evaluation_has() -> None:
    (one,) = of_setting([run(0.2, low=0.1, high=0.3)]).values()
    assert one == {"n": 1, "mean": 0.2, "low": 0.1, "high": 0.3, "interval": "problems"}
    (two,) = of_setting([run(0.2, low=0.1, high=0.3), run(0.4, low=0.3, high=0.5)]).values()
    assert two == over_seeds([0.2, 0.4])


def test_tasks_come_before_validation_and_training() -> None:
    def at(mean: float) -> dict:
        return {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}

    evaluation = {
        "math500": {"pass@1": at(0.5), "pass@4": at(0.6), "pass@16": at(0.7)},
        "aime24": {"pass@1": at(0.1), "pass@16": at(0.3)},
    }
    found = of_run(
        evaluation, {"openai/gsm8k": {"pass@1": 0.4, "pass@2": 0.45, "pass@8": 0.5}}, 0.8, mean_of([evaluation])
    )
    assert {name: value["mean"] for name, value in found.items()} == pytest.approx(
        {
            "mean pass@1": 0.3,
            "math500 pass@1": 0.5,
            "math500 pass@16": 0.7,
            "aime24 pass@1": 0.1,
            "aime24 pass@16": 0.3,
            "openai/gsm8k pass@1, validation": 0.4,
            "openai/gsm8k pass@8, validation": 0.5,
            "training, last step": 0.8,
        }
    )
    assert next(iter(found)) == "mean pass@1"
    assert found["math500 pass@1"]["low"] == pytest.approx(0.4)


def test_a_mean_over_tasks_is_over_those_that_all_evaluated_runs_have() -> None:
    def at(mean: float) -> dict:
        return {"pass@1": {"mean": mean, "low": None, "high": None}}

    evaluations: list[dict] = [
        {"math500": at(0.9), "amc23": at(0.8), "aime24": at(0.1)},
        {"math500": at(0.7), "aime24": at(0.3)},
        {},
    ]
    mean = mean_of(evaluations)
    found = [of_run(evaluation, {}, None, mean).get("mean pass@1 of math500, aime24") for evaluation in evaluations]
    assert [each and each["mean"] for each in found] == [pytest.approx(0.5), pytest.approx(0.5), None]
    assert mean_of(evaluations[:1] * 2) == ("mean pass@1", ["math500", "amc23", "aime24"])


def test_the_table_has_half_of_an_interval_over_seeds() -> None:
    """Of 0.5 and 0.6: 0.55, and t_{0.975, 1} times 0.05."""
    measured = over_seeds([0.5, 0.6])
    half = 100 * 12.7062047 * 0.05
    assert _cell(measured) == f"55.00 ± {half:.2f} (2)"


def test_the_intervals_that_a_table_has_are_explained_and_no_others() -> None:
    words = {
        "seeds": f"±: half of the {KINDS['seeds']}.",
        "problems": f"[low, high]: {KINDS['problems']}.",
        None: "alone",
    }
    for has in product([False, True], repeat=3):
        kinds = [kind for kind, is_there in zip(words, has, strict=True) if is_there]
        settings = [{"measures": {"math500 pass@1": {"interval": kind}}} for kind in kinds]
        said = reading({"settings": [*settings, {"measures": {}}], "intervals": KINDS})
        assert [kind for kind, each in words.items() if each in said] == kinds
        assert bool(said) == bool(kinds)
