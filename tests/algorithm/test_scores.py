import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import groups, scores

from .naive import ESTIMATORS, Batch, gradient, naive_members, naive_score

IDS = torch.tensor([7, 7, 3, 3, 3])
REWARDS = torch.tensor([1.0, 4.0, 0.0, 1.0, 5.0], dtype=torch.float64)


def group_scores(
    rewards: torch.Tensor, ids: torch.Tensor, *, estimator: str = "rloo", row_mask: torch.Tensor | None = None
) -> torch.Tensor:
    return scores.group_scores(rewards, groups.make_groups(ids, row_mask), estimator)


def test_by_hand() -> None:
    """Group 7 has 1, 4 (mean 2.5); group 3 has 0, 1, 5 (mean 2, sum of squares 14, unbiased std sqrt 7)."""
    assert group_scores(REWARDS, IDS, estimator="rloo").tolist() == [-3, 3, -3, -1.5, 4.5]
    assert group_scores(REWARDS, IDS).tolist() == [-3, 3, -3, -1.5, 4.5]
    assert group_scores(REWARDS, IDS, estimator="dr_grpo").tolist() == [-1.5, 1.5, -2, -1, 3]
    assert group_scores(REWARDS, IDS, estimator="none").tolist() == REWARDS.tolist()
    divisor = 7**0.5 + 1e-6
    expected = [-2 / divisor, -1 / divisor, 3 / divisor]
    assert group_scores(REWARDS[2:], IDS[2:], estimator="grpo").tolist() == pytest.approx(expected, rel=1e-14)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(3, 6), min_size=1, max_size=5),
    padding=st.integers(0, 3),
    estimator=st.sampled_from(ESTIMATORS),
    seed=st.integers(0, 2**31),
)
def test_equals_the_naive_score(sizes: list[int], padding: int, estimator: str, seed: int) -> None:
    """Value and gradient (of a random mix of the scores): uneven groups, shuffled order, padded rows."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.cat([torch.full((size,), 17 * k - 20) for k, size in enumerate([*sizes, padding])])
    rows = torch.arange(len(ids)) < sum(sizes)
    order = torch.randperm(len(ids), generator=random)
    ids, rows = ids[order], rows[order]
    ids[~rows] = ids[rows][0]
    values = torch.randn(len(ids), generator=random, dtype=torch.float64)
    rewards = torch.where(rows, values, float("nan")).requires_grad_()
    mix = torch.randn(len(ids), generator=random, dtype=torch.float64)

    found = group_scores(rewards, ids, estimator=estimator, row_mask=rows)

    none, zero = torch.zeros(len(ids), 1), torch.zeros((), dtype=torch.float64)
    batch = Batch(none, none, none, none, ids, rows)
    by_row = {i: rewards[i] for i in range(len(ids))}
    expected = [
        naive_score(i, naive_members(batch, i), by_row, estimator) if rows[i] else zero for i in range(len(ids))
    ]
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-9, atol=1e-12)
    naive_gradient = gradient((torch.stack(expected) * mix)[rows].sum(), rewards)
    torch.testing.assert_close(gradient((found * mix).sum(), rewards), naive_gradient, rtol=1e-9, atol=1e-11)


def test_grpo_falls_back_below_the_smallest_std() -> None:
    """Standard deviations just below and just above 1e-3: dr_grpo's scores, and scores of order 1."""
    shape = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)  # unbiased standard deviation 1
    rewards = torch.cat([0.999e-3 * shape, 1.001e-3 * shape])
    found = group_scores(rewards, torch.tensor([0, 0, 0, 1, 1, 1]), estimator="grpo")
    torch.testing.assert_close(found[:3], rewards[:3], rtol=1e-12, atol=1e-18)
    torch.testing.assert_close(found[3:], shape, rtol=2e-3, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_grpo_has_a_finite_gradient_where_all_rewards_are_zero(dtype: torch.dtype) -> None:
    """The derivative of a square root at 0 is infinite; the fallback's gradient is that of r - mean, beside a
    group that does not fall back."""
    ids = torch.tensor([0, 0, 0, 1, 1, 1])
    rewards = torch.tensor([0.0, 0.0, 0.0, 1.0, 2.0, 4.0], dtype=dtype, requires_grad=True)
    mix = torch.tensor([1.0, 0.0, 0.0, 1.0, 2.0, -1.0], dtype=dtype)
    result = gradient((group_scores(rewards, ids, estimator="grpo") * mix).sum(), rewards)
    torch.testing.assert_close(result[:3], torch.tensor([2 / 3, -1 / 3, -1 / 3], dtype=dtype))
    assert result.isfinite().all()
    assert result[3:].abs().min() > 0.01


def test_grpo_in_a_group_of_two_could_not_learn() -> None:
    """Why it is refused: the naive gradient is 0 to within the epsilon, where that of dr_grpo is not."""
    rewards = torch.tensor([0.3, -0.9], dtype=torch.float64, requires_grad=True)
    scores = {e: naive_score(0, [0, 1], {0: rewards[0], 1: rewards[1]}, e) for e in ("grpo", "dr_grpo")}
    assert scores["grpo"].item() == pytest.approx(2**-0.5, rel=1e-5)
    assert gradient(scores["grpo"], rewards).abs().max() < 1e-5
    assert gradient(scores["dr_grpo"], rewards).abs().max() == 0.5
    with pytest.raises(ValueError, match=r"group -4 has 2 rows .* its gradient is zero: use estimator=rloo"):
        group_scores(rewards, torch.tensor([-4, -4]), estimator="grpo")


@pytest.mark.parametrize("estimator", ["rloo", "grpo", "dr_grpo"])
def test_a_group_of_one_is_refused(estimator: str) -> None:
    """Also one that only the mask makes a group of one; the message names the group and the setting."""
    message = f"group 7 has 1 row .*estimator={estimator} .*rollout.n"
    with pytest.raises(ValueError, match=message):
        group_scores(REWARDS[1:], IDS[1:], estimator=estimator)
    with pytest.raises(ValueError, match=message):
        group_scores(REWARDS, IDS, estimator=estimator, row_mask=torch.tensor([0, 1, 1, 1, 1]))


def test_a_group_of_one_needs_no_comparison() -> None:
    assert group_scores(REWARDS[1:], IDS[1:], estimator="none").tolist() == [4, 0, 1, 5]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_group_that_is_all_padding_contributes_nothing(estimator: str) -> None:
    """Its rows score 0 without gradient, and the other group's scores are what they are without it."""
    rewards = REWARDS.clone().requires_grad_()
    found = group_scores(rewards, IDS, estimator=estimator, row_mask=torch.tensor([0, 0, 1, 1, 1]))
    alone = group_scores(REWARDS[2:], IDS[2:], estimator=estimator)
    assert found.tolist() == [0, 0, *alone.tolist()]
    assert gradient((found * torch.arange(5)).sum(), rewards)[:2].tolist() == [0, 0]
