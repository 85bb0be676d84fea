"""What the theory page says in words, of results that are kept or made by enumeration."""

import numpy as np
import torch

from pacs.algorithm import Pacs
from recipes.theory import equation5, few, flow, ranking, toy
from recipes.theory.enumeration import all_groups, log_softmax, solve_groups
from recipes.theory.kept import read_runs
from recipes.theory.section_few import BALANCED, INVERSE, LOWEST, lead
from recipes.theory.section_ranking import LR, RESET, mean, pass_rate_gain
from recipes.theory.section_toy import RIVALS, apart, best, by_rate, interval, no_worse
from recipes.theory.toy_task import WORLDS

HELD = ("all groups", "mixed groups alone")


def test_the_two_terms_are_opposed_and_the_scores_differ_by_a_centring() -> None:
    ways = equation5.along((20, 100, 300, 1000), (1, 20, None), 1.0)
    assert max(max(way.cosine) for way in ways.values()) < -0.9
    assert ways[None].ratio == sorted(ways[None].ratio)
    assert ways[None].ratio[1] > 4
    policy = log_softmax(equation5.case()[0])
    alone, compared = (
        solve_groups(Pacs(estimator=each), policy, policy, equation5.SIX, all_groups(6, 3)).slopes
        for each in ("none", "rloo")
    )
    torch.testing.assert_close(compared, 3 / 2 * (alone - alone.mean(dim=2, keepdim=True)))


def test_where_flows_go() -> None:
    kept = read_runs(flow.RESULTS, flow.SETTINGS, flow.CASES)["runs"]
    limit = float(flow.state(flow.start()[None], flow.start()).right_entropy)
    for weights in ("balanced", "w = 1/q"):
        held, dropped = ({k: run["right_entropy"] for k, run in kept[f"{weights}, {which}"].items()} for which in HELD)
        for falling in (held["1"], held["20"], dropped["None"]):
            assert (np.diff(falling) < -0.01).all()
        assert 0.1 < held["1"][-1] * 10 < held["20"][-1] < held["1000"][-1] < held["None"][-1]
        assert abs(held["1000"][-1] - limit) < 2e-3
        assert abs(held["None"][-1] - limit) < 2e-4
        assert held["20"][-1] > 0.1
        assert abs(dropped["20"][-1]) < 0.004
        assert abs(dropped["1000"][-1]) < 0.005
        assert kept[f"{weights}, all groups"]["None"]["pass_rate"][-1] < 0.997


def test_when_the_score_ranks_the_wrong_way_round() -> None:
    runs = read_runs(ranking.RESULTS, ranking.SETTINGS, ranking.BETAS)["runs"]
    lr = ranking.SETTINGS["learning_rates"].index(LR)
    marks = range(len(ranking.SETTINGS["steps"]))

    def curve(beta: str, period: str, measure: str = "accuracy", rate: int = lr) -> list[float]:
        return [mean(runs[beta][period][measure], step, rate) for step in marks]

    for beta in runs:
        assert (np.diff(curve(beta, "never")) > -0.005).all()
        assert curve(beta, "never")[-1] > 0.99
    twenty, five, one = (curve("1.0", period) for period in ("20", "5", "1"))
    assert min(twenty[:2]) > 0.9
    assert max(twenty[2:]) < 0.5
    assert min(five) == five[1] < 0.3
    assert min(five[3:]) > 0.45
    assert min(one) > 0.45
    assert max(one) < 0.65
    small = curve("0.1", "20")
    assert small[2] < twenty[2]
    assert small[3] < twenty[3]
    assert small[4] > twenty[4]
    assert curve("0.1", "100")[-1] < curve("1.0", "100")[-1]
    assert min(curve("0.1", "never", "mixed_error")) > 0.25 > 0.05 > curve("1.0", "never", "mixed_error")[-1]
    lowest = twenty.index(min(twenty))
    odds, wrong, gap = (curve("1.0", "20", measure) for measure in ("odds", "kl_wrong", "gap"))
    assert odds[lowest] < -0.5
    assert wrong[lowest] < -odds[lowest] / 2
    first = next(mark for mark in marks if gap[mark] < 0)
    assert first < lowest
    gaps, parts = (np.array(runs["1.0"]["20"][measure][first][lr]) for measure in ("gap", "odds"))
    assert parts[gaps < 0].mean() < -0.2
    assert parts[gaps > 0].mean() > 0.2
    assert min(min(curve("1.0", period, rate=0)) for period in RESET) > 0.45
    for period in RESET:
        _, low, high = pass_rate_gain(runs["1.0"], period, lr)
        assert low > 0 if period == "100" else low < 0 < high
        assert all(pass_rate_gain(runs["1.0"], period, slower)[1] > 0 for slower in range(lr))


def test_which_method_is_ahead_in_the_toy() -> None:
    kept = read_runs(toy.RESULTS, toy.SETTINGS, WORLDS)["runs"]
    last, noisy = len(toy.SETTINGS["learning_rates"]) - 1, kept["noisy"]
    never, twenty = "PACS, w = 1/q, never", "PACS, w = 1/q, K = 20"
    for runs in kept.values():
        for name in (never, "PACS, balanced, never"):
            assert best(runs[name]).rate == last
            assert by_rate(runs[name], "pass@1").max() < min(by_rate(runs[rival], "pass@1").min() for rival in RIVALS)
        assert (np.diff(by_rate(runs[never], "pass@1")) > 0).all()
        assert np.diff(by_rate(runs[never], "pass@32"))[-1] < 0
    assert (by_rate(noisy["MaxRL"], "pass@32") > by_rate(noisy["GRPO"], "pass@32")).all()
    assert (by_rate(noisy["MaxRL"], "pass@1") < by_rate(noisy["GRPO"], "pass@1")).all()
    for other in ("GRPO", "RLOO"):
        assert apart(kept, "PACS, balanced, K = 20", other) < 0.02
    assert apart(kept, twenty, "MaxRL") < 0.03
    dropped, one = "PACS, balanced, never, dropped", "PACS, balanced, K = 1"
    for runs in kept.values():
        ends = {name: best(runs[name]).runs["pass@1"] for name in (dropped, "PACS, balanced, never", "GRPO", one)}
        assert interval(ends[dropped], ends["PACS, balanced, never"])[1] > 0.04
        assert interval(ends[dropped], ends["GRPO"])[2] < 0
        assert interval(ends[one], ends["GRPO"])[1] < 0 < interval(ends[one], ends["GRPO"])[2]
    small, own = (best(noisy[name]).runs["pass@1"] for name in ("PACS, w = 1/q, never, beta = 0.25", never))
    assert interval(small, own)[1] > 0
    for name in (twenty, "MaxRL"):
        at = no_worse(noisy["GRPO"], noisy[name])
        assert by_rate(noisy["GRPO"], "pass@32")[at] > best(noisy[name]).runs["pass@32"].mean()
        assert by_rate(noisy[name], "pass@32")[:4].min() > by_rate(noisy["GRPO"], "pass@32").max()
        assert by_rate(noisy[name], "pass@1")[:4].max() < by_rate(noisy["GRPO"], "pass@1").min()


def test_a_reference_that_is_never_reset_is_ahead_where_prompts_are_few() -> None:
    kept = read_runs(few.RESULTS, few.SETTINGS, few.WORLDS)["runs"]
    known = kept["known"]
    numbers = [prompts for prompts, rollouts in few.SETTINGS["cases"] if rollouts == 100_000]
    for name in (BALANCED, INVERSE):
        assert lead(known, name, 16)[1] > 0
        assert all(lead(runs, name, number)[2] < 0 for runs in kept.values() for number in (512, None))
        assert all(
            lead(kept["noisy"], name, number)[1] < 0 < lead(kept["noisy"], name, number)[2] for number in (16, 32)
        )
    ends = {
        name: [best(known[few.named(name, n, 100_000)]).runs["pass@1"].mean() for n in numbers] for name in few.METHODS
    }
    assert np.ptp(ends[BALANCED]) < 0.04
    assert np.ptp(ends["GRPO"]) > 0.12

    def lowest(name: str, prompts: int | None, rollouts: int, measure: str) -> list[float]:
        values: list[float] = known[few.named(name, prompts, rollouts)][measure][LOWEST]
        return values

    def more(
        name: str, prompts: int, measure: str, rollouts: int = 100_000, other: str = "GRPO"
    ) -> tuple[float, float, float]:
        return interval(*(lowest(each, prompts, rollouts, measure) for each in (name, other)))

    assert more(BALANCED, 16, "pass@1")[1] > 0
    assert more(BALANCED, 16, "pass@32")[1] > 0
    for other in ("GRPO", "MaxRL"):
        _, low, high = more(INVERSE, 64, "pass@1", other=other)
        assert low < 0 < high
        assert more(INVERSE, 64, "pass@32", other=other)[1] > 0.04
    shorter, longer = (
        np.subtract(*(lowest(name, 64, rollouts, "pass@32") for name in (INVERSE, "GRPO")))
        for rollouts in (100_000, 400_000)
    )
    assert interval(longer, shorter)[1] < 0 < interval(longer, shorter)[2]
    base = known[toy.BASE]
    for name in few.METHODS:
        assert interval(lowest(name, 16, 100_000, "pass@1"), base["pass@1"][0])[1] < 0, "clearly above the base"
        assert interval(lowest(name, 16, 100_000, "pass@32"), base["pass@32"][0])[2] < 0
    for measure, low in (("pass@1", 0.03), ("pass@32", -0.03)):
        assert interval(lowest(INVERSE, 64, 100_000, measure), base[measure][0])[1] > low
    for runs in kept.values():
        assert all(np.mean(run["pass@32"], axis=1).argmax() == LOWEST for run in runs.values())
