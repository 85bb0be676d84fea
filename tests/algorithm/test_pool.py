"""The pool against brute force: weights by the binomial distribution, draws by enumeration, counts naively."""

import itertools
import math
from collections import Counter

import pytest
import torch

from pacs.algorithm.pool import Pool
from pacs.algorithm.preference import Preference, Weights

RATES = torch.tensor([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97], dtype=torch.float64)


def pool_of(counts: list[tuple[float, int]], preference: Preference, half_life: float | None = None) -> Pool:
    """A pool whose problems have so many right ones of so many responses."""
    pool = Pool(len(counts), preference, half_life, seed=1)
    for problem, (right, responses) in enumerate(counts):
        pool.observe(problem, right, responses)
    return pool


def weights_of(preference: Preference, step: int = 1) -> torch.Tensor:
    weights = preference.log_weights(RATES, step).exp()
    return weights / weights.max()


def test_uniform_and_sqrt_are_what_they_say() -> None:
    assert weights_of(Preference("uniform")).tolist() == [1.0] * len(RATES)
    wanted = [math.sqrt(p * (1 - p)) / 0.5 for p in RATES.tolist()]
    assert weights_of(Preference("sqrt")).tolist() == pytest.approx(wanted, rel=1e-12)
    assert weights_of(Preference("target", responses=1)).tolist() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("right", "responses"), [(1, 4), (2, 4), (4, 8), (6, 8), (15, 16)])
def test_a_target_weighs_by_how_likely_a_group_has_that_share(right: int, responses: int) -> None:
    """Against the binomial distribution, whose value at p = t is the largest."""
    target = right / responses

    def chance(p: float) -> float:
        return math.comb(responses, right) * p**right * (1 - p) ** (responses - right)

    logs = Preference("target", target=target, responses=responses).log_weights(RATES, 1)
    for one, other in itertools.combinations(range(len(RATES)), 2):
        wanted = chance(float(RATES[one])) / chance(float(RATES[other]))
        assert math.exp(logs[one] - logs[other]) == pytest.approx(wanted, rel=1e-9)
    assert max(chance(p / 1000) for p in range(1, 1000)) <= chance(target)


@pytest.mark.parametrize("weights", ["uniform", "sqrt", "target"])
def test_outside_the_band_there_is_no_weight_and_its_ends_belong_to_it(weights: Weights) -> None:
    preference = Preference(weights, low=0.1, high=0.75)
    assert (weights_of(preference) > 0).tolist() == [False, True, True, True, True, False, False]


def test_a_curriculum_moves_the_target_in_even_steps_and_stays() -> None:
    preference = Preference("target", target=0.8, final_target=0.3, curriculum_steps=10)
    targets = [preference.target_at(step) for step in range(1, 14)]
    assert targets == pytest.approx([*(0.8 - 0.05 * done for done in range(11)), 0.3, 0.3])
    assert Preference("target", target=0.8).target_at(1000) == 0.8


def test_every_draw_is_as_likely_as_drawing_one_after_the_other_by_weight() -> None:
    """All ordered pairs of five problems, one of them outside the band: 10,000 draws within 4 standard errors."""
    counts = [(0, 8), (1, 8), (4, 8), (6, 8), (8, 8)]
    pool = pool_of(counts, Preference("sqrt", high=0.9))
    believed = [(right + 0.5) / (responses + 1) for right, responses in counts]
    assert pool.rates.tolist() == pytest.approx(believed, rel=1e-12)
    weights = {i: math.sqrt(p * (1 - p)) for i, p in enumerate(believed) if p <= 0.9}
    number, drawn = 10_000, Counter[tuple[int, ...]]()
    for step in range(number):
        pool.begin(step)
        drawn[tuple(pool.draw(2))] += 1
    pairs = list(itertools.permutations(weights, 2))
    total = sum(weights.values())
    assert set(drawn) == set(pairs)
    for one, other in pairs:
        wanted = weights[one] / total * weights[other] / (total - weights[one])
        error = math.sqrt(wanted * (1 - wanted) / number)
        assert abs(drawn[one, other] / number - wanted) < 4 * error, (one, other)


def test_a_step_draws_none_twice_however_its_draws_are_cut_until_it_has_drawn_all() -> None:
    cut, whole = (pool_of([(4, 8)] * 10, Preference("sqrt")) for _ in range(2))
    for step in (1, 2):
        cut.begin(step)
        whole.begin(step)
        parts = [*cut.draw(4), *cut.draw(1), *cut.draw(5)]
        assert parts == whole.draw(10) == cut.drawn
        assert sorted(parts) == list(range(10))
        assert cut.draw(3) == parts[:3]


def test_a_band_with_too_few_is_filled_up_with_the_nearest() -> None:
    counts = [(0, 8), (8, 8), (7, 8), (4, 8), (6, 8)]  # believed 0.06, 0.94, 0.83, 0.5, 0.72
    pool = pool_of(counts, Preference("uniform", low=0.4, high=0.75))
    for step in range(20):
        pool.begin(step)
        drawn = pool.draw(5)
        assert set(drawn[:2]) == {3, 4}
        assert drawn[2:] == [2, 1, 0]
        assert pool.statistics()["outside"] == 3
    alike = pool_of([(0, 8)] * 50, Preference("uniform", low=0.4))
    firsts = set()
    for step in range(20):
        alike.begin(step)
        firsts.update(alike.draw(2))
    assert len(firsts) > 20  # any of the equally near ones
    assert alike.statistics()["effective"] == 0


def test_the_counts_are_those_of_a_naive_list() -> None:
    """Each response is worth 2^(-age/h), whether its problem has been sampled since or not."""
    half_life, seen = 7.0, []
    pool = Pool(3, Preference("uniform"), half_life, seed=0)
    for step, problem, right, responses in ((1, 0, 3, 8), (2, 1, 8, 8), (2, 0, 0.5, 4), (9, 0, 8, 8), (30, 1, 0, 16)):
        pool.begin(step)
        pool.observe(problem, right, responses)
        seen.append((step, problem, right, responses))
        for each in range(3):
            worth = [(0.5 ** ((step - at) / half_life), r, n) for at, of, r, n in seen if of == each]
            right_ones, all_ones = (sum(w * (r, n)[i] for w, r, n in worth) for i in range(2))
            assert float(pool.rates[each]) == pytest.approx((right_ones + 0.5) / (all_ones + 1), rel=1e-12)
    assert float(pool.rates[2]) == 0.5
    kept = pool_of([(8, 8)], Preference("uniform"))
    kept.begin(10**6)
    assert float(kept.rates[0]) == pytest.approx(8.5 / 9)


def test_what_is_not_sampled_for_long_comes_back_into_the_band() -> None:
    pool = pool_of([(8, 8), (4, 8)], Preference("uniform", high=0.75), half_life=10)
    pool.begin(1)
    assert pool.draw(1) == [1]
    pool.begin(60)
    assert {tuple(pool.draw(1)) for _ in range(2)} == {(0,), (1,)}
    assert pool.statistics()["outside"] == 0


def test_the_statistics_are_those_of_the_draw() -> None:
    pool = pool_of([(0, 8), (4, 8), (8, 8), (6, 8)], Preference("sqrt", low=0.1))
    pool.begin(1)
    drawn = pool.draw(2)
    believed = pool.rates
    pool.observe(drawn[0], 8, 8)  # what is learned later changes nothing of it
    weights = torch.where(believed >= 0.1, (believed * (1 - believed)).sqrt(), 0)
    chances = weights / weights.sum()
    assert pool.statistics() == pytest.approx(
        {
            "believed": float(believed[drawn].mean()),
            "outside": 0.0,
            "effective": float(1 / (chances**2).sum()),
            "target": 0.5,
        }
    )


@pytest.mark.parametrize("refilled", [0, 3])
def test_a_pool_that_is_restored_goes_on_alike(refilled: int) -> None:
    """Bit for bit, through a file and from every step; also where more is drawn than a step begins with."""
    preference = Preference("target", target=0.7, final_target=0.4, curriculum_steps=5)

    def step_of(pool: Pool, step: int) -> tuple[list[int], list[float]]:
        pool.begin(step)
        drawn = pool.draw(4) + [each for _ in range(refilled) for each in pool.draw(1)]
        for problem in drawn:
            pool.observe(problem, (problem * step) % 9, 8)
        return drawn, pool.rates.tolist()

    straight = Pool(20, preference, 3.0, seed=5)
    steps = [step_of(straight, step) for step in range(1, 9)]
    for stop in range(1, 8):
        first = Pool(20, preference, 3.0, seed=5)
        before = [step_of(first, step) for step in range(1, stop + 1)]
        state = first.state()
        step_of(first, stop + 1)  # what comes after is not in it
        again = Pool(20, preference, 3.0, seed=99)
        again.restore(state)
        assert before + [step_of(again, step) for step in range(stop + 1, 9)] == steps
    with pytest.raises(ValueError, match="a pool of 20 problems, and there are 21"):
        Pool(21, preference, 3.0, seed=5).restore(straight.state())
