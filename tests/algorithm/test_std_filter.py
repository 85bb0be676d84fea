"""Which groups differ enough, against RLPR's rule by loops and `statistics`; the reference answer's term, by hand."""

import random
import statistics

import pytest
import torch

from pacs.algorithm import mean_probabilities
from pacs.algorithm.groups import make_groups
from pacs.algorithm.std_filter import StdFilter, group_stds

SHARE, DECAY, FIRST = 0.5, 0.9, 4


def draw(dice: random.Random, step: int) -> tuple[list[list[float]], torch.Tensor, torch.Tensor]:
    """Groups of one to five rewards, their rewards as one tensor, and the groups' ids, in any order of rows."""
    scale = 0.3 if step < 8 else 0.05
    groups = [[scale * dice.random() ** 3 for _ in range(dice.choice((1, 3, 5)))] for _ in range(9)]
    rows = [(number, reward) for number, rewards in enumerate(groups) for reward in rewards]
    dice.shuffle(rows)
    return groups, torch.tensor([reward for _, reward in rows]), torch.tensor([number for number, _ in rows])


def test_groups_are_left_out_by_the_moving_average_of_the_steps_before() -> None:
    dice, ours, usual = random.Random(0), StdFilter(SHARE, DECAY, FIRST), None
    left_out = 0
    for step in range(1, 16):
        groups, rewards, ids = draw(dice, step)
        stds = [statistics.stdev(each) if len(each) > 1 else None for each in groups]
        known = [std for std in stds if std is not None]
        keep = [step < FIRST or std is None or std >= SHARE * usual for std in stds]
        if not any(keep):
            keep = [std == max(known) for std in stds]
        kept = ours.keep(step, group_stds(rewards, make_groups(ids)))
        assert kept.tolist() == keep
        left_out += keep.count(False)
        mean = statistics.fmean(known)
        usual = mean if usual is None else DECAY * usual + (1 - DECAY) * mean
        assert ours.usual == pytest.approx(usual, rel=1e-5)
    assert left_out > 10


def test_it_goes_on_with_what_is_usual() -> None:
    dice, whole = random.Random(1), StdFilter(SHARE, DECAY, FIRST)
    steps = [group_stds(*(rewards, make_groups(ids))) for _, rewards, ids in (draw(dice, step) for step in range(12))]
    half = None
    for step, stds in enumerate(steps, start=1):
        kept = whole.keep(step, stds)
        if half is not None:
            assert torch.equal(half.keep(step, stds), kept)
        if step == 6:
            half = StdFilter(SHARE, DECAY, FIRST)
            half.usual = whole.usual
    assert half is not None
    assert half.usual == whole.usual


def test_where_all_would_be_left_out_those_that_differ_most_are_kept() -> None:
    ours = StdFilter(SHARE, DECAY, FIRST)
    ours.usual = 1.0
    assert ours.keep(FIRST, torch.tensor([0.1, 0.3, 0.0])).tolist() == [False, True, False]
    assert ours.keep(FIRST, torch.tensor([0.0, 0.0])).tolist() == [True, True]


def test_the_mean_probability_and_its_gradient_are_those_by_hand() -> None:
    torch.manual_seed(0)
    log_probs = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    marked = torch.tensor([[True, False, True, False], [False] * 4, [False, True, True, True]])
    by_hand = []
    for row, marks in zip(log_probs, marked, strict=True):
        tokens = [row[i].exp() for i in range(4) if marks[i]]
        by_hand.append(sum(tokens) / len(tokens) if tokens else torch.zeros(()))
    ours = mean_probabilities(log_probs, marked)
    assert torch.allclose(ours, torch.stack([each.double() for each in by_hand]))
    weights = torch.tensor([2.0, 3.0, -1.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad((weights * ours).sum(), log_probs)
    expected = weights[:, None] * torch.where(marked, log_probs.exp(), 0) / marked.sum(1).clamp(min=1)[:, None]
    assert torch.allclose(gradient, expected)


def test_what_is_not_marked_reaches_nothing() -> None:
    log_probs = torch.tensor([[0.0, torch.nan, -1.0]], requires_grad=True)
    value = mean_probabilities(log_probs, torch.tensor([[True, False, True]]))
    value.sum().backward()
    assert value.isfinite().all()
    assert log_probs.grad is not None
    assert log_probs.grad.tolist()[0][1] == 0
