"""The titles: their numbers are those of the series, worked out by hand."""

import numpy as np
import pytest

from pacs.report import read_runs
from pacs.report.figures import title_of
from pacs.report.findings import Interval, number, over_runs, rank, share, wobble
from pacs.report.panels import PANELS
from pacs.report.run_groups import group_runs
from tests.report.drawn import OF_SOME

NAMED = {panel.name: panel for panel in PANELS}


def title(name, folders, *, each=True):
    return title_of(NAMED[name], group_runs(read_runs(folders), each=each))


def constant(value):
    return lambda step: value


def test_the_titles_of_one_run(make_run):
    """0.3 + 0.05 * step from 1 to 6 for the pass rate, and so on: see conftest."""
    folder = [make_run(resets=[3, 6], more=OF_SOME)]
    titles = {name: title(name, folder) for name in NAMED}
    assert titles == {
        "pass_rate": "Right answers in training: 0.38 → 0.58",
        "validation": "Pass@1 on arithmetic: 0.25 → 0.50; pass@8: 0.25 → 0.50",
        "entropy": "Entropy: 0.75 → 0.183 nats a token",
        "response_length": "Mean length of a response: 15.5 → 19.5 tokens",
        # steps 5 and 6: 0.5 + 0.55, and 0.5 - 1.1
        "scores": "Median score in the last third: 1.05 for right, −0.6 for wrong",
        "lengths": "Mean length in the last third: 17.5 tokens for right, 20 for wrong",
        # steps 5 and 6: 7.5 and 8, 4 and 4
        "effective_rank": "Effective rank in the last third: 7.75 for right, 4 for wrong",
        "critic": "Accuracy of the implicit critic: 0.75 → 0.75",
        "advantage": "The effective advantage: 0.5 → 0.5",
        "groups": "Groups: all right 0.30 → 0.30, all wrong 0.10 → 0.10, mixed 0.60 → 0.60",
        "generative_critic": "Explained variance of the critic's scores: 0.15 → 0.55",
        "log_ratio": "Distance from the reference: 0.015 → 0.055 nats a response",
        "update": "Share of mixed groups: 0.60 → 0.60",
        "gradient_norm": "Gradient norm: 9.85 → 9.45",
        "rollout_gap": "Gap between vLLM and trainer: 1e-05 → 1e-05 nats a token",
        "staleness": "Age of the responses: 0.5 → 0.5 steps",
        "verifier": "Verdicts: correct 0.38 → 0.58, wrong 0.52 → 0.32, no answer 0.10 → 0.10",
        "time": "Time of a step: 4 → 4 s, 38% of it update",
    }


def test_seeds_are_told_as_their_mean(make_run):
    folders = [
        make_run(
            f"s{i}", more={"critic/score/mean": lambda step, i=i: 0.1 * step + 0.2 * i}, config=f"data: {{seed: {i}}}"
        )
        for i in (0, 1)
    ]
    assert title("pass_rate", folders, each=False) == "Right answers in training: 0.25 → 0.65"


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((0.9, 0.8), "0.90 for a, 0.80 for b"),
        ((0.8, 0.9), "0.90 for b, 0.80 for a"),
        ((0.8, 0.8001), "no clear difference (0.80)"),
        ((0.9, 0.8, 0.7), "a highest (0.90; lowest 0.70)"),
        ((0.7, 0.9, 0.9), "b and c highest (0.90; lowest 0.70)"),
        ((0.9, 0.9, 0.9, 0.7), "3 of 4 about equally highest (0.90; lowest 0.70)"),
    ],
)
def test_of_several_runs_the_title_names_who_ended_highest(make_run, ends, text):
    """Without noise: each is constant."""
    folders = [
        make_run(name, more={"critic/score/mean": constant(end)}) for name, end in zip("abcd", ends, strict=False)
    ]
    assert title("pass_rate", folders) == f"Right answers in training, last third up to step 6: {text}"


def test_noisy_runs_are_not_ranked(make_run):
    """Ends 0.1 apart, in curves whose neighbours are 0.2 apart."""
    more = [{"critic/score/mean": lambda step, up=up: 0.5 + up + 0.2 * (step % 2)} for up in (0.0, 0.1)]
    folders = [make_run(name, more=metrics) for name, metrics in zip("ab", more, strict=True)]
    assert title("pass_rate", folders).endswith("last third up to step 6: no clear difference (0.60 to 0.70)")


def test_groups_of_seeds_are_ranked_by_their_intervals(make_run):
    """Three seeds that are close, then two, of which the interval is wide: 0.72 ± 6.353 x 0.04."""

    def seeds(name, ends):
        return [
            make_run(f"{name}{i}", more={"critic/score/mean": constant(end)}, config=f"x: {name}\ndata: {{seed: {i}}}")
            for i, end in enumerate(ends)
        ]

    low, high, wide = seeds("low", (0.5, 0.51, 0.52)), seeds("high", (0.7, 0.71, 0.72)), seeds("wide", (0.7, 0.74))
    apart = title("pass_rate", [*low, *high], each=False)
    assert apart == "Right answers in training, last third up to step 6: 0.71 for x=high, 0.51 for x=low"
    overlapping = title("pass_rate", [*low, *wide], each=False)
    assert overlapping == "Right answers in training, last third up to step 6: no clear difference (0.51 to 0.72)"


@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_an_interval_by_the_range_has_the_mean_in_95_of_100(runs):
    draws = np.random.default_rng(0).normal(size=(100_000, runs))
    low, _, high = over_runs(draws.min(axis=1), draws.mean(axis=1), draws.max(axis=1), runs)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.95, abs=0.003)


def test_runs_of_unequal_length_are_compared_where_both_are(make_run):
    folders = [make_run("long", steps=9), make_run("short", steps=4, more={"critic/score/mean": constant(0.9)})]
    assert title("pass_rate", folders).endswith("last third up to step 4: 0.90 for short, 0.47 for long")


def test_runs_without_a_common_part_are_not_compared(make_run):
    nan = float("nan")
    more = [{"critic/score/mean": lambda step, late=late: 0.5 if (step > 3) == late else nan} for late in (False, True)]
    folders = [make_run(f"r{i}", more=metrics) for i, metrics in enumerate(more)]
    assert title("pass_rate", folders) == "Right answers in training"


def test_what_only_one_of_several_has_is_told_of_that_one(make_run):
    folders = [make_run("pacs"), make_run("grpo", pacs=False)]
    assert title("update", folders) == "Share of mixed groups: 0.60 → 0.60"
    assert title("scores", folders) == "Median score in the last third: 1.05 for right, −0.6 for wrong"


def test_where_the_metric_of_the_title_is_missing_the_quantity_is_told(make_run):
    folder = [make_run(pacs=False, more={"pacs/residual_mean": constant(0.5)})]
    assert title("critic", folder) == "The implicit critic: σ(ψ) against R"
    one_verdict = [make_run("right", pacs=False, more={"pacs/score/correct_q50": constant(0.5)})]
    assert title("scores", one_verdict) == "Scores of right and wrong responses"


def test_scores_of_several_runs_are_told_by_their_distance(make_run):
    """1.05 + 0.6 against 0.5 - 0.5 + 0.3 * 5.5."""
    other = {"pacs/score/correct_q50": constant(0.5), "pacs/score/wrong_q50": lambda step: 0.5 - 0.1 * step}
    folders = [make_run("a"), make_run("b", more=other)]
    assert title("scores", folders) == "Median of right less that of wrong scores, last third: 1.65 for a, 0.55 for b"


def test_medians_of_several_runs(make_run):
    folders = [make_run("a"), make_run("b", more={"timing_s/step": constant(9.0)})]
    assert title("time", folders) == "Time of a step, last third up to step 6: 9 s for b, 4 for a"


def test_a_time_without_phases_is_told_without_them(make_run):
    none = dict.fromkeys(["timing_s/gen", "timing_s/update_actor"], constant(float("nan")))
    assert title("time", [make_run(more=none)]) == "Time of a step: 4 → 4 s"


def test_verdicts_of_several_runs_are_told_by_the_missing_answers(make_run):
    folders = [make_run("a"), make_run("b", more={"pacs/verifier/no_answer_fraction": constant(0.3)})]
    assert title("verifier", folders) == "Share of “no answer”, last third up to step 6: 0.30 for b, 0.10 for a"


def test_the_three_largest_verdicts_are_told(make_run):
    more = {"pacs/verifier/timeout_fraction": constant(0.2), "pacs/verifier/error_fraction": constant(0.01)}
    text = title("verifier", [make_run(more=more)])
    assert text == "Verdicts: correct 0.38 → 0.58, wrong 0.52 → 0.32, timeout 0.20 → 0.20"


def test_several_sources_are_told_as_their_mean(make_run):
    keys = [f"pacs/validation/{source}/pass@{k}" for source in ("a", "org/b") for k in (1, 8)]
    text = title("validation", [make_run(validation=keys)])
    assert text == "Mean pass@1 of 2 sources: 0.25 → 0.50"


def test_a_long_label_keeps_its_end():
    text = rank({"x" * 50 + "-end": Interval(1, 1, 1), "b": Interval(0, 0, 0)}, " s", number)
    assert text == f"1 s for …{'x' * 35}-end, 0 for b"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.19234, "0.192"),
        (17.804, "17.8"),
        (999.4, "999"),
        (4205.2, "4,205"),
        (2.86e-7, "2.86e-07"),
        (-1.2, "−1.2"),
        (-4205.2, "−4,205"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_shares_have_two_decimals():
    assert [share(value) for value in (0.0, 0.324, 0.935, 1.0)] == ["0.00", "0.32", "0.94", "1.00"]


def test_the_wobble_is_the_median_distance_from_midway():
    assert wobble([0.0, 1.0, -2.0, 4.0, 6.0]) == 2.0  # of 2, 4.5, 2
    assert wobble([1.0, 2.0, 3.0, 4.0]) == 0.0
    assert wobble([5.0, 7.0]) == 0.0
