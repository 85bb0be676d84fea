from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import Constants, Pacs, method_loss

from .naive import ALL_CONFIGS, ESTIMATORS, Batch, config_name, gradient, make_batch, naive_loss


def loss_and_gradient(batch: Batch, config: Pacs, **options: object) -> tuple[torch.Tensor, torch.Tensor]:
    leaf = batch.log_probs.clone().requires_grad_()
    loss, _ = method_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask, **options)
    return loss, gradient(loss, leaf)


def naive_loss_and_gradient(batch: Batch, config: Pacs) -> tuple[torch.Tensor, torch.Tensor]:
    leaf = batch.log_probs.clone().requires_grad_()
    loss = naive_loss(replace(batch, log_probs=leaf), config)
    return loss, gradient(loss, leaf)


def test_by_hand() -> None:
    """One group with r = 1, 0, -1 and labels 1, 0, 0.

    psi = 1.5, 0, -1.5; w = 3/2, 3/4, 3/4; l = ln(1 + e^-1.5) = 0.20141, ln 2 = 0.69315, 0.20141.
    e = w (sigmoid(psi) - R) = -0.27364, 0.375, 0.13682; 3 dL/dr_i = e_i minus the mean of the other two.
    """
    log_probs = torch.tensor([[1.0], [0.0], [-1.0]], dtype=torch.float64) - 2
    batch = Batch(
        log_probs,
        torch.full_like(log_probs, -2.0),
        torch.ones(3, 1, dtype=torch.bool),
        torch.tensor([1, 0, 0]),
        torch.tensor([4, 4, 4]),
        torch.ones(3),
    )
    loss, grad = loss_and_gradient(batch, Pacs())
    assert loss.item() == pytest.approx(0.3243468, abs=1e-7)
    assert (3 * grad).flatten().tolist() == pytest.approx([-0.5295479, 0.4434096, 0.0861383], abs=1e-7)


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_equals_the_naive_loss(config: Pacs) -> None:
    """Value and gradient: uneven groups, shuffled rows, a single-class group, NaN in all that is masked."""
    batch = make_batch()
    loss, grad = loss_and_gradient(batch, config)
    naive, naive_grad = naive_loss_and_gradient(batch, config)
    torch.testing.assert_close(loss, naive, rtol=1e-12, atol=0)
    torch.testing.assert_close(grad, naive_grad, rtol=1e-9, atol=1e-14)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(3, 6), min_size=2, max_size=4),
    padding_rows=st.integers(0, 3),
    config=st.sampled_from(ALL_CONFIGS),
    seed=st.integers(0, 2**31),
)
def test_equals_the_naive_loss_for_any_groups(sizes: list[int], padding_rows: int, config: Pacs, seed: int) -> None:
    batch = make_batch(seed, tuple(sizes), tokens=3, padding_rows=padding_rows)
    loss, grad = loss_and_gradient(batch, config)
    naive, naive_grad = naive_loss_and_gradient(batch, config)
    torch.testing.assert_close(loss, naive, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(grad, naive_grad, rtol=1e-8, atol=1e-13)


# The policy-gradient surrogate holds its weights constant, which a finite difference cannot.
@pytest.mark.parametrize(
    "config", [config for config in ALL_CONFIGS if not config.policy_gradient_term], ids=config_name
)
def test_gradient_equals_finite_differences(config: Pacs) -> None:
    batch = make_batch(seed=3, sizes=(3, 4, 3), tokens=2, padding_rows=2)
    _, grad = loss_and_gradient(batch, config)
    step = 1e-5
    differences = torch.zeros_like(grad)
    for i, t in torch.nonzero(batch.response_mask & batch.row_mask[:, None]).tolist():
        ends = []
        for sign in (1, -1):
            moved = batch.log_probs.clone()
            moved[i, t] += sign * step
            ends.append(method_loss(moved, *batch.inputs[1:], config, row_mask=batch.row_mask)[0].item())
        differences[i, t] = (ends[0] - ends[1]) / (2 * step)
    torch.testing.assert_close(grad, differences, rtol=1e-6, atol=1e-9)
    assert grad.abs().max() > 1e-3


def test_policy_gradient_term_is_the_weighted_loss_times_the_score_function() -> None:
    """The option adds w_i l_i / N to the gradient at each token, and nothing to the value.

    Here psi = 1, -1, w = 1, l = ln(1 + e^-1) = 0.3132617.
    """
    log_probs = torch.tensor([[-0.5, -0.5], [-1.0, -1.0]], dtype=torch.float64)
    ref = torch.tensor([[-1.0, -1.0], [-1.0, -1.0]], dtype=torch.float64)
    batch = Batch(
        log_probs,
        ref,
        torch.ones(2, 2, dtype=torch.bool),
        torch.tensor([1, 0]),
        torch.tensor([0, 0]),
        torch.ones(2),
    )
    plain, with_term = Pacs(), Pacs(policy_gradient_term=True)
    loss, grad = loss_and_gradient(batch, plain)
    loss_pg, grad_pg = loss_and_gradient(batch, with_term)
    assert (grad_pg - grad).flatten().tolist() == pytest.approx([0.3132617 / 2] * 4, abs=1e-7)
    assert loss_pg.item() == loss.item() == pytest.approx(0.3132617, abs=1e-7)


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_row_order_and_padding_have_no_influence(config: Pacs) -> None:
    """The rows without padding, sorted by group, give the same loss and the same gradient row by row."""
    batch = make_batch(seed=4)
    loss, grad = loss_and_gradient(batch, config)
    order = torch.argsort(batch.group_ids)
    order = order[batch.row_mask[order]]
    plain_loss, plain_grad = loss_and_gradient(batch.take(order), config)
    torch.testing.assert_close(loss, plain_loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(grad[order], plain_grad, rtol=1e-10, atol=1e-15)
    outside = ~(batch.response_mask & batch.row_mask[:, None])
    assert (grad[outside] == 0).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bf16_inputs_are_calculated_in_float32(estimator: str) -> None:
    """The same result as for their float32 copies, to the bit; the gradient comes back as bf16."""
    config = Pacs(estimator=estimator)
    batch = make_batch().to(torch.bfloat16)
    loss, grad = loss_and_gradient(batch, config)
    loss32, grad32 = loss_and_gradient(batch.to(torch.float32), config)
    assert loss.dtype == torch.float32
    assert grad.dtype == torch.bfloat16
    assert loss.item() == loss32.item()
    torch.testing.assert_close(grad, grad32.bfloat16(), rtol=0, atol=0)


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_float32_is_near_float64(config: Pacs) -> None:
    batch = make_batch()
    loss, grad = loss_and_gradient(batch, config)
    loss32, grad32 = loss_and_gradient(batch.to(torch.float32), config)
    assert (loss.dtype, loss32.dtype) == (torch.float64, torch.float32)
    torch.testing.assert_close(loss32.double(), loss, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(grad32.double(), grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("estimator", ["rloo", "dr_grpo", "none"])
def test_scores_of_a_thousand_do_not_overflow(estimator: str) -> None:
    """In float32 sigmoid(1000) is 1 and its log-loss on the wrong side infinite, if not taken from the logit.

    rloo: psi = 2000, -2000, both wrong, and 2000, -2000, both right; dr_grpo and none: half of that.
    """
    log_probs = torch.tensor([[1000.0], [-1000.0], [1000.0], [-1000.0]])
    ids, ones = torch.tensor([0, 0, 1, 1]), torch.ones(4, 1)
    batch = Batch(log_probs, torch.zeros(4, 1), ones, torch.tensor([0, 1, 1, 0]), ids, torch.ones(4))
    loss, grad = loss_and_gradient(batch, Pacs(estimator=estimator))
    assert loss.item() == pytest.approx(1000 if estimator == "rloo" else 500, rel=1e-6)
    assert grad.isfinite().all()
    assert (grad[:2].flatten().sign() == torch.tensor([1.0, -1.0])).all()
    assert (grad[2:] == 0).all()


def test_grpo_at_the_reference_learns_as_dr_grpo() -> None:
    """At the start and after each reset r = 0 for every row, exactly: no NaN, dr_grpo's loss and gradient."""
    batch = make_batch()
    batch = replace(batch, ref_log_probs=batch.log_probs)
    loss, grad = loss_and_gradient(batch, Pacs(estimator="grpo"))
    other_loss, other_grad = loss_and_gradient(batch, Pacs(estimator="dr_grpo"))
    assert loss.item() == other_loss.item()
    torch.testing.assert_close(grad, other_grad, rtol=0, atol=0)
    assert grad.abs().max() > 1e-3


def test_dr_grpo_is_rloo_with_a_smaller_beta() -> None:
    """beta * (G-1)/G: the same loss and gradient."""
    batch = make_batch(seed=5, sizes=(4, 4, 4))
    loss, grad = loss_and_gradient(batch, Pacs(estimator="dr_grpo", beta=2.0))
    other_loss, other_grad = loss_and_gradient(batch, Pacs(estimator="rloo", beta=2.0 * 3 / 4))
    torch.testing.assert_close(loss, other_loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(grad, other_grad, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("denominator", [None, 0, 12, torch.tensor(12)])
def test_no_row_that_counts_gives_a_zero_that_carries_a_gradient(estimator: str, denominator: object) -> None:
    """A micro-batch of padding, or of dropped groups, takes part in backward without a contribution."""
    drop = Pacs(estimator=estimator, single_class_groups="drop", policy_gradient_term=True)
    padding = make_batch()
    padding = replace(padding, row_mask=torch.zeros_like(padding.row_mask))
    dropped = make_batch(sizes=(4,), padding_rows=0)  # the last group is of one class
    for batch in (padding, dropped):
        loss, grad = loss_and_gradient(batch, drop, denominator=denominator)
        assert loss.item() == 0
        assert (grad == 0).all()


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_a_response_without_a_token_is_compared_as_any_other(config: Pacs) -> None:
    """All of it was written by a tool: r = 0, also over its length, and it counts; its own tokens have no gradient."""
    batch = make_batch(seed=12)
    row = int(torch.nonzero(batch.row_mask & (batch.group_ids == 7))[0])
    mask = batch.response_mask.clone()
    mask[row] = False
    batch = replace(batch, response_mask=mask)
    loss, grad = loss_and_gradient(batch, config)
    naive, naive_grad = naive_loss_and_gradient(batch, config)
    torch.testing.assert_close(loss, naive, rtol=1e-12, atol=0)
    torch.testing.assert_close(grad, naive_grad, rtol=1e-9, atol=1e-14)
    assert (grad[row] == 0).all()
    others = batch.row_mask & (batch.group_ids == 7) & batch.response_mask.any(dim=1)
    assert (grad[others].abs().sum(dim=1) > 0).all()


def test_an_empty_batch_is_a_zero() -> None:
    batch = make_batch().take(torch.zeros(0, dtype=torch.int64))
    loss, grad = loss_and_gradient(batch, Pacs())
    assert loss.item() == 0
    assert grad.shape == (0, 6)


def test_given_coefficients_are_used_as_they_are() -> None:
    """Except in rows that do not count: there even a NaN weighs nothing."""
    batch = make_batch(seed=6)
    config = Pacs(single_class_groups="drop")
    coefficients = torch.where(batch.constants(config).active, 2.5, float("nan"))
    loss, grad = loss_and_gradient(batch, config, constants=batch.constants(config, coefficients))
    unweighted = config.model_copy(update={"objective": "pass_rate"})
    expected, expected_grad = loss_and_gradient(batch, unweighted)
    torch.testing.assert_close(loss, 2.5 * expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(grad, 2.5 * expected_grad, rtol=1e-10, atol=1e-15)


def test_denominator_scales_the_loss() -> None:
    batch = make_batch()
    own, _ = loss_and_gradient(batch, Pacs())
    rows = batch.row_mask.sum().item()
    for denominator in (3 * rows, float(3 * rows), torch.tensor(3 * rows)):
        third, _ = loss_and_gradient(batch, Pacs(), denominator=denominator)
        assert third.item() == pytest.approx(own.item() / 3, rel=1e-12)


@pytest.mark.parametrize("denominator", [0, -1, float("nan"), torch.tensor(0)])
def test_an_impossible_denominator_is_refused(denominator: object) -> None:
    with pytest.raises(ValueError, match=r"denominator=.*18 rows count here: .*in the whole mini-batch"):
        loss_and_gradient(make_batch(), Pacs(), denominator=denominator)


def test_not_finite_under_the_mask_is_refused() -> None:
    """Only where a row counts: the padding of this batch has nothing but NaN."""
    batch = make_batch()
    row, token = torch.nonzero(batch.response_mask & batch.row_mask[:, None])[0]
    broken = batch.ref_log_probs.clone()
    broken[row, token] = float("-inf")
    with pytest.raises(ValueError, match="response_mask: ref_log_probs in 1 of 22 rows"):
        loss_and_gradient(replace(batch, ref_log_probs=broken), Pacs())


def test_a_group_of_one_is_refused() -> None:
    batch = make_batch(padding_rows=0)
    with pytest.raises(ValueError, match="group 7 has 1 row"):
        loss_and_gradient(replace(batch, row_mask=(batch.group_ids != 7) | first_of(batch, 7)), Pacs())


def first_of(batch: Batch, group_id: int) -> torch.Tensor:
    rows = batch.group_ids == group_id
    return rows & (rows.cumsum(0) == 1)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_masks_of_any_dtype(dtype: torch.dtype) -> None:
    batch = make_batch()
    loss, grad = loss_and_gradient(batch, Pacs())
    other = replace(batch, response_mask=batch.response_mask.to(dtype), row_mask=batch.row_mask.to(dtype))
    other_loss, other_grad = loss_and_gradient(other, Pacs())
    assert torch.equal(loss, other_loss)
    assert torch.equal(grad, other_grad)


@pytest.mark.parametrize("name", ["labels", "response_mask", "ref_log_probs", "coefficients", "row_mask"])
def test_other_shapes_are_refused(name: str) -> None:
    batch = make_batch()
    arguments = dict(vars(batch)) | {"coefficients": torch.ones(22)}
    arguments[name] = arguments[name][:1]
    ones = torch.ones(22)
    arguments["constants"] = Constants(ones == 1, ones, arguments.pop("coefficients"))
    with pytest.raises(ValueError, match=rf"{name} has shape \(1,"):
        method_loss(**arguments, method=Pacs())


def test_another_number_of_rows_is_refused() -> None:
    batch = make_batch()
    with pytest.raises(ValueError, match="log_probs has 1 rows, but group_ids has 22"):
        method_loss(batch.log_probs[:1], *batch.inputs[1:], Pacs())


def test_other_labels_are_refused() -> None:
    batch = make_batch()
    labels = torch.where(batch.row_mask, batch.labels * 0.5, 0)
    with pytest.raises(ValueError, match=r"rows have others \(0.5\)"):
        loss_and_gradient(replace(batch, labels=labels), Pacs(weight_scope="batch"))
