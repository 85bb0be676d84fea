"""Log-probabilities that are not finite, for callers that skip such an update: NaN where they act, nowhere else."""

import math
from dataclasses import replace

import pytest
import torch

from pacs.algorithm import PacsConfig, pacs_loss, score_responses, sequence_log_ratios, surrogate_loss

from .naive import ALL_CONFIGS, Batch, config_name, gradient, make_batch

VALUES = [math.nan, math.inf, -math.inf]


def loss_gradient_rows(batch: Batch, config: PacsConfig, **options: bool) -> tuple[torch.Tensor, torch.Tensor, dict]:
    leaf = batch.log_probs.clone().requires_grad_()
    loss, rows = pacs_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask, **options)
    return loss.detach(), gradient(loss, leaf), rows


def poison(batch: Batch, name: str, value: float) -> tuple[Batch, int]:
    """The batch with `value` at the first token of a row of its first group, which has both classes; and that row."""
    row = int(torch.nonzero(batch.row_mask & (batch.group_ids == 7))[0])
    values = getattr(batch, name).clone()
    values[row, 0] = value
    return replace(batch, **{name: values}), row


def affected_rows(batch: Batch, row: int, config: PacsConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """The row's group, where scores compare, and all others that take part: each (B,) bool."""
    same = batch.group_ids == batch.group_ids[row]
    if config.estimator == "none":
        same = torch.arange(len(batch.labels)) == row
    return batch.row_mask & same, batch.row_mask & ~same


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["log_probs", "ref_log_probs"])
@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_it_reaches_the_gradient_of_its_row_and_no_other_group(config: PacsConfig, name: str, value: float) -> None:
    clean = make_batch()
    batch, row = poison(clean, name, value)
    affected, others = affected_rows(batch, row, config)
    loss, grad, rows = loss_gradient_rows(batch, config, allow_not_finite=True)
    _, clean_grad, clean_rows = loss_gradient_rows(clean, config)
    assert loss.isnan()
    tokens = batch.response_mask & affected[:, None]
    assert grad[tokens].isnan().all()
    assert torch.equal(grad[~tokens], clean_grad[~tokens])
    for column in ("score", "loss", "effective_advantage"):
        assert rows[column][affected].isnan().all()
        assert torch.equal(rows[column][others], clean_rows[column][others])
    assert torch.nonzero(rows["log_ratio"].isnan()).flatten().tolist() == [row]


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_what_the_masks_hide_stays_harmless(config: PacsConfig) -> None:
    """The batch holds NaN and inf wherever a mask is 0: no bit of loss, gradient or rows differs from the default."""
    loss, grad, rows = loss_gradient_rows(make_batch(), config, allow_not_finite=True)
    expected_loss, expected_grad, expected_rows = loss_gradient_rows(make_batch(), config)
    assert loss.isfinite()
    assert torch.equal(loss, expected_loss)
    assert torch.equal(grad, expected_grad)
    assert all(torch.equal(rows[name], expected_rows[name]) for name in rows)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["log_probs", "ref_log_probs"])
@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_gradient_caching_has_it_in_the_surrogate_of_its_group(config: PacsConfig, name: str, value: float) -> None:
    """Scored from what was not finite, though the gradient pass then gives finite log-probabilities."""
    clean = make_batch()
    batch, row = poison(clean, name, value)
    affected, others = affected_rows(batch, row, config)

    def scored(batch: Batch) -> dict[str, torch.Tensor]:
        mask = batch.response_mask & batch.row_mask[:, None]
        log_ratios = sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask, allow_not_finite=True)
        rest = batch.labels, batch.group_ids, config
        return score_responses(log_ratios, mask.sum(dim=1), *rest, row_mask=batch.row_mask)

    rows, clean_rows = scored(batch), scored(clean)
    for column in ("score", "loss", "effective_advantage"):
        assert rows[column][affected].isnan().all()
        assert torch.equal(rows[column][others], clean_rows[column][others])
    leaf = clean.log_probs.clone().requires_grad_()
    loss = surrogate_loss(leaf, batch.response_mask, rows["effective_advantage"], counted=rows["counted"])
    assert loss.isnan()
    assert gradient(loss, leaf)[batch.response_mask & affected[:, None]].isnan().all()


def test_the_default_refuses() -> None:
    batch, _ = poison(make_batch(), "ref_log_probs", -math.inf)
    mask = batch.response_mask & batch.row_mask[:, None]
    with pytest.raises(ValueError, match="not finite under response_mask: ref_log_probs in 1 of 22 rows"):
        sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask)
    with pytest.raises(ValueError, match="not finite under response_mask: ref_log_probs in 1 of 22 rows"):
        loss_gradient_rows(batch, PacsConfig())
