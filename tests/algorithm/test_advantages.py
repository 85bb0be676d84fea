from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import Pacs, batch_constants, method_loss, score_responses, sequence_log_ratios
from pacs.algorithm.advantages import normalized
from pacs.algorithm.groups import make_groups

from .naive import ALL_CONFIGS, ESTIMATORS, Batch, config_name, gradient, make_batch

# The policy-gradient term is not part of an effective advantage.
CONFIGS = [config for config in ALL_CONFIGS if not config.policy_gradient_term]


def effective_advantages(
    rewards: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor,
    ids: torch.Tensor,
    *,
    beta: float,
    estimator: str,
    lengths: torch.Tensor | None = None,
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Those of rewards r_i; with `lengths` these are divided by the length."""
    method = Pacs(beta=beta, estimator=estimator, normalize_by_length=lengths is not None)
    given = torch.ones(len(ids)) if lengths is None else lengths
    log_ratios = rewards / beta * given.clamp(min=1)
    rows = score_responses(log_ratios, given, labels, ids, method, row_mask=row_mask, coefficients=weights)
    return rows["effective_advantage"]


def advantages_of(batch: Batch, config: Pacs) -> torch.Tensor:
    """As a trainer calls it, from the log-probabilities at the current weights."""
    mask = batch.response_mask & batch.row_mask[:, None]
    log_ratios = sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask)
    weights = batch_constants(batch.labels.double(), batch.group_ids, config, batch.row_mask).coefficients
    rest = mask.sum(dim=1), batch.labels, batch.group_ids, config
    return score_responses(log_ratios, *rest, row_mask=batch.row_mask, coefficients=weights)["effective_advantage"]


def autograd_advantages(batch: Batch, config: Pacs) -> torch.Tensor:
    """-N * dL/dlog pi at every position: (B, T)."""
    leaf = batch.log_probs.clone().requires_grad_()
    loss, _ = method_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask)
    return -batch.constants(config).active.sum() * gradient(loss, leaf)


def assert_equals_autograd(batch: Batch, config: Pacs, rtol: float, atol: float) -> None:
    mask = batch.response_mask & batch.row_mask[:, None]
    every_token = torch.where(mask, advantages_of(batch, config)[:, None], 0)
    torch.testing.assert_close(every_token, autograd_advantages(batch, config), rtol=rtol, atol=atol)


def test_by_hand() -> None:
    """r = 1, 0, -1, labels 1, 0, 0: e = -0.27364, 0.375, 0.13682; A_i = beta * (mean of other e - e_i)."""
    rewards = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)
    labels, ids = torch.tensor([1, 0, 0]), torch.tensor([4, 4, 4])
    weights = torch.tensor([1.5, 0.75, 0.75])
    lengths = torch.tensor([2, 1, 4])
    result = effective_advantages(rewards, labels, weights, ids, beta=2.0, estimator="rloo")
    assert result.tolist() == pytest.approx([2 * 0.5295479, -2 * 0.4434096, -2 * 0.0861383], abs=1e-6)
    by_token = effective_advantages(rewards, labels, weights, ids, beta=2.0, estimator="rloo", lengths=lengths)
    torch.testing.assert_close(by_token, result / lengths)


@pytest.mark.parametrize("config", CONFIGS, ids=config_name)
def test_equal_autograd_at_every_token(config: Pacs) -> None:
    """Uneven groups, both proxies, padding, and a single-class group that is kept or dropped."""
    assert_equals_autograd(make_batch(seed=9), config, rtol=1e-9, atol=1e-13)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(3, 7), min_size=1, max_size=5),
    config=st.sampled_from(CONFIGS),
    seed=st.integers(0, 2**31),
)
def test_equal_autograd_for_any_groups(sizes: list[int], config: Pacs, seed: int) -> None:
    assert_equals_autograd(make_batch(seed, tuple(sizes)), config, rtol=1e-7, atol=1e-11)


def test_equal_autograd_where_grpo_falls_back() -> None:
    """One group at r = 0 exactly, one just below 1e-3, the others above."""
    batch = make_batch(seed=10)
    near = torch.where(batch.group_ids == 0, 1e-4, 1.0)[:, None]
    near = torch.where(batch.group_ids[:, None] == 7, 0.0, near)
    mask = batch.response_mask & batch.row_mask[:, None]
    shift = torch.where(mask, (batch.ref_log_probs - batch.log_probs) * near, 0)
    batch = replace(batch, ref_log_probs=torch.where(mask, batch.log_probs + shift, batch.ref_log_probs))
    config = Pacs(estimator="grpo")
    _, rows = method_loss(*batch.inputs, config, row_mask=batch.row_mask)
    fell_back = batch.row_mask & ((batch.group_ids == 0) | (batch.group_ids == 7))
    assert rows["grpo_fallback"].bool().tolist() == fell_back.tolist()
    assert_equals_autograd(batch, config, rtol=1e-9, atol=1e-13)


def test_a_row_without_a_token_is_finite() -> None:
    """It has no token to use its advantage on, but an infinite one times a zero mask would be NaN."""
    rewards, labels, ids = torch.tensor([0.5, 0.0, -2.0]), torch.tensor([1, 0, 0]), torch.tensor([1, 1, 1])
    lengths = torch.tensor([2, 0, 4])
    result = effective_advantages(rewards, labels, torch.ones(3), ids, beta=1.0, estimator="rloo", lengths=lengths)
    assert result.isfinite().all()


def test_a_token_wise_surrogate_has_the_gradient_however_it_is_split() -> None:
    """A row at a time, groups torn apart: -(1/N) sum_it m_it A_i log pi(o_it) has Eq. 8's gradient."""
    batch, config = make_batch(seed=11), Pacs()
    advantages = advantages_of(batch, config)
    leaf = batch.log_probs.clone().requires_grad_()
    n = batch.row_mask.sum()
    total = torch.zeros_like(leaf)
    for i in torch.nonzero(batch.row_mask).squeeze(1).tolist():
        total += gradient(-(advantages[i] * leaf[i][batch.response_mask[i]]).sum() / n, leaf)
    torch.testing.assert_close(-n * total, autograd_advantages(batch, config), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("estimator", ["rloo", "dr_grpo"])
@pytest.mark.parametrize("label", [0, 1])
def test_in_a_group_of_one_class_they_sum_to_zero(estimator: str, label: int) -> None:
    """They even out the scores within the group: the lowest r goes up and the highest down."""
    rewards = torch.tensor([-1.0, 0.0, 3.0], dtype=torch.float64)
    labels, ids = torch.full((3,), label), torch.zeros(3, dtype=torch.int64)
    result = effective_advantages(rewards, labels, torch.ones(3), ids, beta=1.0, estimator=estimator)
    assert result.sum().item() == pytest.approx(0, abs=1e-12)
    assert result[0] > 0.1
    assert result[2] < -0.1


def test_in_a_group_of_one_class_they_vanish_at_the_reference() -> None:
    """At r = 0; there those of a group with both classes do not, nor those of estimator `none`."""
    rewards, ids = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)

    def advantages(labels: list[int], estimator: str) -> list[float]:
        given = torch.tensor(labels)
        weights = batch_constants(given, ids, Pacs()).coefficients
        return effective_advantages(rewards, given, weights, ids, beta=1.0, estimator=estimator).tolist()

    assert advantages([1, 1, 1, 1], "rloo") == [0, 0, 0, 0]
    assert advantages([1, 1, 0, 0], "rloo") == pytest.approx([2 / 3, 2 / 3, -2 / 3, -2 / 3])
    assert advantages([1, 1, 1, 1], "none") == [0.5, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64,) * 2],
)
def test_are_constants_in_float32_at_least(estimator: str, dtype: torch.dtype, expected: torch.dtype) -> None:
    ids, labels = torch.tensor([1, 1, 1]), torch.tensor([True, False, False])
    rewards = torch.tensor([0.5, 1.0, -2.0], dtype=dtype, requires_grad=True)
    result = effective_advantages(rewards, labels, torch.ones(3), ids, beta=1.0, estimator=estimator)
    exact = effective_advantages(rewards.double(), labels, torch.ones(3), ids, beta=1.0, estimator=estimator)
    assert (result.dtype, result.requires_grad) == (expected, False)
    torch.testing.assert_close(result.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_masked_rows_have_none_and_no_influence(estimator: str) -> None:
    """NaN in everything a masked row has, its length included."""
    nan = float("nan")
    ids = torch.tensor([1, 1, 1, 1, 2])
    rewards = torch.tensor([0.5, 1.0, -2.0, nan, nan])
    labels = torch.tensor([1, 0, 0, nan, nan])
    weights = torch.tensor([1.5, 0.75, 0.75, nan, nan])
    lengths = torch.tensor([2, 3, 4, 0, nan])
    rows = torch.tensor([1, 1, 1, 0, 0])
    result = effective_advantages(
        rewards, labels, weights, ids, beta=1.0, estimator=estimator, lengths=lengths, row_mask=rows
    )
    alone = effective_advantages(
        rewards[:3], labels[:3], weights[:3], ids[:3], beta=1.0, estimator=estimator, lengths=lengths[:3]
    )
    assert result.tolist() == [*alone.tolist(), 0, 0]
    assert alone.abs().min() > 0


@pytest.mark.parametrize("value", [1.0, 0.1, 0.3, 0.7, 0.9, -0.3, 1.1, 10.3])
def test_grpos_are_0_where_all_labels_are_the_same_number(value: float) -> None:
    """As rewards of several parts may be: in float32 their mean differs from them, and the epsilon is as small."""
    for size in range(2, 33):
        ids = torch.arange(2).repeat_interleave(size)
        labels = torch.cat([torch.full((size,), value), torch.tensor([value + 1] + [value] * (size - 1))])
        result = normalized(labels, make_groups(ids))
        assert result.dtype == torch.float32
        assert result[:size].tolist() == [0] * size
        assert result[size].item() == pytest.approx((size - 1) / size**0.5, rel=1e-5)


def test_wrong_arguments_are_refused() -> None:
    good = {
        "log_ratios": torch.ones(3),
        "lengths": torch.ones(3),
        "labels": torch.ones(3),
        "group_ids": torch.tensor([1, 1, 1]),
        "method": Pacs(),
        "coefficients": torch.ones(3),
    }

    def refused(match: str, **changed: object) -> None:
        with pytest.raises(ValueError, match=match):
            score_responses(**(good | changed))

    for name in ("log_ratios", "lengths", "labels", "coefficients"):
        refused(rf"{name} has shape \(1,\)", **{name: torch.ones(1)})
    refused("others \\(2.0\\)", labels=torch.full((3,), 2.0))
    refused("group 5 has 1 row", group_ids=torch.tensor([1, 1, 5]))
    refused("group 1 has 2 rows", row_mask=torch.tensor([1, 1, 0]), method=Pacs(estimator="grpo"))
