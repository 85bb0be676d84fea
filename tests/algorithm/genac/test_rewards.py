"""What is read of a trace, and what it earns: by hand, and by all scores there are."""

import math
import random

import pytest
import torch

from pacs.algorithm.genac import SuccessRate, compared, critic_reward, filled_values, read_score, read_value


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (r"\boxed{7}", 7),
        (r"\boxed{10}", 10),
        (r"\boxed{0}.", 0),
        (r"\boxed{ 3 }", 3),
        (r"\boxed {4}", 4),
        (r"first \boxed{2}, and" "\n" r"then \boxed{9} is it", 9),
        (r"\boxed{2} and then \boxed{n}", None),
        (r"\boxed{2} and then \boxed{5", None),
        (r"\boxed{11}", None),
        (r"\boxed{100}", None),
        (r"\boxed{-1}", None),
        (r"\boxed{07}", None),
        (r"\boxed{7.0}", None),
        (r"\boxed{7/10}", None),
        (r"\boxed{\text{7}}", None),
        (r"\boxed{}", None),
        (r"\boxed{٣}", None),
        ("the answer is 7", None),
        ("boxed{7}", None),
        ("", None),
    ],
)
def test_the_score_is_the_integer_in_the_last_box(text: str, score: int | None) -> None:
    assert read_score(text) == score
    assert read_value(text) == (None if score is None else score / 10)


def test_rewards_by_hand() -> None:
    assert critic_reward(1.0, 1.0) == 1
    assert critic_reward(1.0, 0.0) == 0
    assert critic_reward(0.0, 0.3) == pytest.approx(0.91)
    assert critic_reward(1.0, 0.3) == pytest.approx(0.51)
    assert critic_reward(1.0, None) == critic_reward(0.0, None) == 0
    assert critic_reward(0.5, 0.3) == pytest.approx(0.96)


def test_the_best_score_is_the_expected_outcome_rounded() -> None:
    for percent in range(101):
        chance = percent / 100
        expected = [chance * critic_reward(1, v / 10) + (1 - chance) * critic_reward(0, v / 10) for v in range(11)]
        nearest = min(abs(v / 10 - chance) for v in range(11))
        assert abs(expected.index(max(expected)) / 10 - chance) == pytest.approx(nearest)
        # Up to a constant of the state, it is less the squared error.
        variance = chance * (1 - chance)
        assert expected == pytest.approx([1 - variance - (v / 10 - chance) ** 2 for v in range(11)])


def test_what_cannot_be_read_is_the_last_value_before_it_or_the_rate() -> None:
    assert filled_values([None, 0.3, None, None, 0.0, None], 0.29) == [0.29, 0.3, 0.3, 0.3, 0.0, 0.0]
    assert filled_values([None, None], 0.5) == [0.5, 0.5]
    assert filled_values([], 0.5) == []


def test_the_rate_of_a_step_is_that_of_before_it() -> None:
    rate = SuccessRate(0.5)
    shown = []
    steps = [[1.0, 0.0, 0.0, 0.0], [], [1.0, 1.0]]
    for outcomes in steps:
        shown.append(rate.rate)
        rate.update(outcomes)
    assert shown == pytest.approx([0.5, 0.9 * 0.5 + 0.1 * 0.25, 0.475])
    assert rate.rate == pytest.approx(0.9 * 0.475 + 0.1)


def test_a_rate_goes_on_where_it_was() -> None:
    one, other = SuccessRate(0.3, decay=0.5), SuccessRate(0.9, decay=0.5)
    one.update([1.0])
    other.load_state_dict(one.state_dict())
    for each in (one, other):
        each.update([0.0, 1.0])
    assert one.rate == other.rate == pytest.approx(0.5 * 0.65 + 0.25)


def test_a_reward_is_compared_with_the_mean_of_the_others() -> None:
    drawn = random.Random(0)
    rewards = [drawn.random() for _ in range(7)]
    naive = [r - math.fsum(rewards[:i] + rewards[i + 1 :]) / 6 for i, r in enumerate(rewards)]
    found = compared(torch.tensor(rewards, dtype=torch.float64))
    assert found.tolist() == pytest.approx(naive)
    assert compared(torch.tensor(rewards), "none").tolist() == pytest.approx(rewards)
    assert compared(torch.tensor([0.7])).tolist() == [0.0]
    assert compared(torch.empty(0)).shape == (0,)
