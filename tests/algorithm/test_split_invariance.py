"""Any split of a mini-batch into whole groups gives the loss, the metrics and the gradient of the whole."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import PacsConfig, class_balance_weights, counted_rows, pacs_loss

from .naive import ALL_CONFIGS, gradient, make_batch


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    config=st.sampled_from(ALL_CONFIGS),
    parts=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    seed=st.integers(0, 2**31),
)
def test_micro_batches_sum_to_the_mini_batch(config: PacsConfig, parts: list[int], seed: int) -> None:
    """`parts` says which of four micro-batches each group is in, the group that is all padding included."""
    batch = make_batch(seed)
    leaf = batch.log_probs.clone().requires_grad_()
    whole, whole_metrics = pacs_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask)
    whole_gradient = gradient(whole, leaf)

    # As a trainer does it: N and the weights come from the mini-batch, before the split.
    counted = counted_rows(batch.labels, batch.group_ids, config, batch.row_mask)
    weights = class_balance_weights(batch.labels.double(), batch.group_ids, scope=config.weight_scope, row_mask=counted)
    _, index = torch.unique(batch.group_ids, return_inverse=True)
    part_of_row = torch.tensor(parts)[index]
    losses, metrics, gradients = [], [], []
    for part in range(4):
        rows = torch.nonzero(part_of_row == part).squeeze(1)
        micro = batch.take(rows)
        loss, micro_metrics = pacs_loss(
            leaf[rows],
            *micro.inputs[1:],
            config,
            row_mask=micro.row_mask,
            denominator=counted.sum(),
            weights=weights[rows] if config.weight_scope == "batch" else None,
        )
        losses.append(loss)
        metrics.append(micro_metrics)
        gradients.append(gradient(loss, leaf))

    torch.testing.assert_close(sum(losses), whole, rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(sum(gradients), whole_gradient, rtol=1e-10, atol=1e-15)
    for name, value in whole_metrics.items():
        torch.testing.assert_close(sum(m[name] for m in metrics), value, rtol=1e-10, atol=1e-13, msg=name)


def test_scope_batch_needs_its_weights_from_before_the_split() -> None:
    """Counted in each micro-batch, the weights are others, and so is the loss: why `weights` can be given."""
    config = PacsConfig(weight_scope="batch")
    batch = make_batch(seed=1)
    whole, _ = pacs_loss(*batch.inputs, config, row_mask=batch.row_mask)
    parts = [batch.take(batch.group_ids == 7), batch.take(batch.group_ids != 7)]
    denominator = batch.row_mask.sum()
    split = sum(pacs_loss(*part.inputs, config, row_mask=part.row_mask, denominator=denominator)[0] for part in parts)
    assert split.item() != pytest.approx(whole.item(), rel=1e-3)
