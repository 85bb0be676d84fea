"""FLOPs as the paper counts them, and beside a loop over rows."""

import pytest

from benchmarks import critic_costs as costs
from benchmarks.critic_costs import Lengths

PAPER = Lengths()


def test_the_paper_s_table() -> None:
    tokens = PAPER.response
    assert costs.ppo(PAPER) == 18 * tokens
    assert costs.critic_tokens(PAPER) == tokens + tokens / 120 * 300 == 3.5 * tokens
    assert costs.genac(PAPER) == 38 * tokens
    assert costs.vineppo(PAPER) == pytest.approx(78 * tokens, rel=0.005)
    assert costs.genac(PAPER) / costs.ppo(PAPER) == pytest.approx(2.1, abs=0.02)
    assert costs.vineppo(PAPER) / costs.ppo(PAPER) == pytest.approx(4.3, abs=0.06)


def test_what_prefixes_cost_that_are_not_shared() -> None:
    """The issue's numbers at T = 3,000: plain rows 7x, 5.8x if generation alone shares, 2.5x as printed, 4B 1.3x."""
    plain = sum(k * 120 + 300 for k in range(25))
    assert costs.critic_tokens(PAPER, once=False) == plain
    ppo = costs.ppo(PAPER)
    assert costs.genac(PAPER, generated_once=False, trained_once=False) / ppo == pytest.approx(7.0, abs=0.01)
    assert costs.genac(PAPER, trained_once=False) / ppo == pytest.approx(5.8, abs=0.05)
    assert costs.genac(Lengths(tail=100)) / ppo == pytest.approx(2.5, abs=0.05)
    assert costs.genac(PAPER, critic=0.5) / ppo == pytest.approx(1.3, abs=0.04)


def test_sizes_multiply_their_own_part() -> None:
    assert costs.ppo(PAPER, actor=8, critic=0) == 80 * PAPER.response
    assert costs.genac(PAPER, actor=0, critic=2) == 56 * PAPER.response
    assert costs.vineppo(PAPER, actor=3) == 3 * costs.vineppo(PAPER)
