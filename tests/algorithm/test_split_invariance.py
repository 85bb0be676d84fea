"""Any split of a mini-batch gives its loss and gradient: whole groups by autograd, any rows once they are scored."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import (
    Pacs,
    batch_constants,
    check_whole_groups,
    method_loss,
    row_columns,
    score_responses,
    sequence_log_ratios,
    surrogate_loss,
)

from .naive import ALL_CONFIGS, config_name, gradient, make_batch


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    config=st.sampled_from(ALL_CONFIGS),
    parts=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    seed=st.integers(0, 2**31),
)
def test_micro_batches_sum_to_the_mini_batch(config: Pacs, parts: list[int], seed: int) -> None:
    """`parts` says which of four micro-batches each group is in, the group that is all padding included."""
    batch = make_batch(seed)
    leaf = batch.log_probs.clone().requires_grad_()
    whole, whole_rows = method_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask)
    whole_gradient = gradient(whole, leaf)

    # As a trainer does it: N and the coefficients come from the mini-batch, before the split.
    constants = batch_constants(batch.labels.double(), batch.group_ids, config, batch.row_mask)
    _, index = torch.unique(batch.group_ids, return_inverse=True)
    part_of_row = torch.tensor(parts)[index]
    losses, gradients = [], []
    columns = {name: torch.full_like(value, torch.nan) for name, value in whole_rows.items()}
    for part in range(4):
        rows = torch.nonzero(part_of_row == part).squeeze(1)
        micro = batch.take(rows)
        loss, micro_rows = method_loss(
            leaf[rows],
            *micro.inputs[1:],
            config,
            row_mask=micro.row_mask,
            denominator=constants.shares.sum(),
            constants=constants.of(rows) if config.weight_scope == "batch" else None,
        )
        losses.append(loss)
        for name, value in micro_rows.items():
            columns[name][rows] = value
        gradients.append(gradient(loss, leaf))

    torch.testing.assert_close(sum(losses), whole, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(sum(gradients), whole_gradient, rtol=1e-10, atol=1e-15)
    for name, value in whole_rows.items():
        torch.testing.assert_close(columns[name], value, rtol=1e-10, atol=1e-13, msg=name)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    config=st.sampled_from(ALL_CONFIGS),
    parts=st.lists(st.integers(0, 3), min_size=23, max_size=23),
    seed=st.integers(0, 2**31),
)
def test_once_scored_any_rows_sum_to_the_mini_batch(config: Pacs, parts: list[int], seed: int) -> None:
    """Gradient caching: `parts` says which of four micro-batches each row is in; groups are torn apart."""
    batch = make_batch(seed)
    leaf = batch.log_probs.clone().requires_grad_()
    whole, whole_rows = method_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask)

    mask = batch.response_mask & batch.row_mask[:, None]
    scored = score_responses(
        sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask),
        mask.sum(dim=1),
        batch.labels,
        batch.group_ids,
        config,
        log_likelihoods=batch.log_likelihoods,
        row_mask=batch.row_mask,
    )
    assert tuple(scored) == tuple(whole_rows) == row_columns(config)
    for name, value in whole_rows.items():
        torch.testing.assert_close(scored[name], value, rtol=1e-12, atol=1e-15, msg=name)

    part_of_row = torch.tensor(parts)[: len(batch.labels)]
    gradients = []
    for part in range(4):
        rows = torch.nonzero(part_of_row == part).squeeze(1)
        surrogate = surrogate_loss(
            leaf[rows],
            batch.response_mask[rows],
            scored["effective_advantage"][rows],
            active=scored["active"][rows],
            denominator=scored["active"].sum(),
        )
        gradients.append(gradient(surrogate, leaf))
    torch.testing.assert_close(sum(gradients), gradient(whole, leaf), rtol=1e-9, atol=1e-14)


def test_rows_that_lack_a_part_of_their_group_are_refused() -> None:
    ids, sizes = torch.tensor([5, 5, 9, 9, 9]), torch.tensor([2, 2, 2, 2, 0])
    mask = torch.tensor([1, 1, 1, 1, 0])
    check_whole_groups(ids, sizes, mask)
    check_whole_groups(ids[[3, 1, 2, 0]], sizes[[3, 1, 2, 0]], None)
    with pytest.raises(ValueError, match=r"1 of the 2 responses of group 5 are here.*method.update.strategy=cached"):
        check_whole_groups(ids[1:], sizes[1:], mask[1:])


def test_scope_batch_needs_its_weights_from_before_the_split() -> None:
    """Counted in each micro-batch, the weights are others, and so is the loss: why `constants` can be given."""
    config = Pacs(weight_scope="batch")
    batch = make_batch(seed=1)
    whole, _ = method_loss(*batch.inputs, config, row_mask=batch.row_mask)
    parts = [batch.take(batch.group_ids == 7), batch.take(batch.group_ids != 7)]
    denominator = batch.row_mask.sum()
    split = sum(method_loss(*part.inputs, config, row_mask=part.row_mask, denominator=denominator)[0] for part in parts)
    assert split.item() != pytest.approx(whole.item(), rel=1e-3)


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_rows_that_do_not_count_have_no_part_in_the_weights(config: Pacs) -> None:
    batch = make_batch()
    constants = batch.constants(config)
    active, weights = constants.active, constants.coefficients
    assert 0 < active.sum() < len(active)
    kept = batch.take(active.nonzero().squeeze(1))
    alone = batch_constants(kept.labels, kept.group_ids, config).coefficients
    torch.testing.assert_close(weights[active], alone)
    assert (weights[~active] == 0).all()
