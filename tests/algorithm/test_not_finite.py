"""Log-probabilities that are not finite, for callers that skip such an update: NaN where they act, nowhere else."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from pacs.algorithm import (
    Method,
    Pacs,
    Rows,
    advantage_loss,
    credited_objectives,
    method_loss,
    score_responses,
    sequence_log_ratios,
    surrogate_loss,
)
from pacs.algorithm.kit_case import random_case

from .naive import ALL_CONFIGS, ESTIMATORS, Batch, config_name, gradient, make_batch
from .test_advantages import effective_advantages
from .test_family import SETTINGS, name

VALUES = [math.nan, math.inf, -math.inf]


def loss_gradient_rows(batch: Batch, config: Pacs, **options: Any) -> tuple[torch.Tensor, torch.Tensor, dict]:
    leaf = batch.log_probs.clone().requires_grad_()
    loss, rows = method_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask, **options)
    return loss.detach(), gradient(loss, leaf), rows


def poison(batch: Batch, name: str, value: float) -> tuple[Batch, int]:
    """The batch with `value` at the first token of a row of its first group, which has both classes; and that row."""
    return poison_group(batch, 7, name, value)


def poison_group(batch: Batch, group_id: int, name: str, value: float) -> tuple[Batch, int]:
    row = int(torch.nonzero(batch.row_mask & (batch.group_ids == group_id))[0])
    values = getattr(batch, name).clone()
    values[row, int(torch.nonzero(batch.response_mask[row])[0])] = value
    return replace(batch, **{name: values}), row


def affected_rows(batch: Batch, row: int, config: Pacs) -> tuple[torch.Tensor, torch.Tensor]:
    """The row's group, where scores compare, and all others that take part: each (B,) bool."""
    same = batch.group_ids == batch.group_ids[row]
    if config.estimator == "none":
        same = torch.arange(len(batch.labels)) == row
    return batch.row_mask & same, batch.row_mask & ~same


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["log_probs", "ref_log_probs"])
@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_it_reaches_the_gradient_of_its_row_and_no_other_group(config: Pacs, name: str, value: float) -> None:
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


def score(batch: Batch, config: Pacs, weights: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
    mask = batch.response_mask & batch.row_mask[:, None]
    log_ratios = sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask, allow_not_finite=True)
    rest = batch.labels, batch.group_ids, config
    given = {"log_likelihoods": batch.log_likelihoods, "row_mask": batch.row_mask, "coefficients": weights}
    return score_responses(log_ratios, mask.sum(dim=1), *rest, **given)


def grouped(batch: Batch, config: Pacs, weights: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    loss, grad, _ = loss_gradient_rows(batch, config, constants=batch.constants(config, weights), allow_not_finite=True)
    return loss, grad


def cached(batch: Batch, config: Pacs, weights: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The values that are not finite are in both passes."""
    rows = score(batch, config, weights)
    leaf = batch.log_probs.clone().requires_grad_()
    loss = surrogate_loss(leaf, batch.response_mask, rows["effective_advantage"], active=rows["active"])
    return loss.detach(), gradient(loss, leaf)


Strategy = Callable[[Batch, Pacs, torch.Tensor | None], tuple[torch.Tensor, torch.Tensor]]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", ["log_probs", "ref_log_probs"])
@pytest.mark.parametrize("strategy", [grouped, cached])
@pytest.mark.parametrize("config", [c for c in ALL_CONFIGS if c.single_class_groups == "drop"], ids=config_name)
def test_in_a_dropped_group_it_is_harmless(config: Pacs, strategy: Strategy, name: str, value: float) -> None:
    """No bit of loss and gradient differs; that it was there is seen in the row's log-ratio alone."""
    clean = make_batch()
    batch, row = poison_group(clean, 5, name, value)
    loss, grad = strategy(batch, config, None)
    clean_loss, clean_grad = strategy(clean, config, None)
    assert loss.isfinite()
    assert torch.equal(loss, clean_loss)
    assert torch.equal(grad, clean_grad)
    assert clean_grad.abs().max() > 0
    rows, clean_rows = score(batch, config), score(clean, config)
    counts = clean_rows["active"] == 1
    assert all(torch.equal(rows[column][counts], clean_rows[column][counts]) for column in rows)
    assert torch.nonzero(rows["log_ratio"].isnan()).flatten().tolist() == [row]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("config", [c for c in ALL_CONFIGS if c.objective == "pass_rate"], ids=config_name)
def test_in_a_group_without_a_weight_it_is_harmless(config: Pacs, value: float) -> None:
    """Weights as a caller may give them; of a single row where rows are not compared."""
    clean = make_batch()
    batch, row = poison(clean, "log_probs", value)
    affected, _ = affected_rows(batch, row, config)
    weights = torch.where(affected, 0.0, 1.5)
    loss, grad = grouped(batch, config, weights)
    clean_loss, clean_grad = grouped(clean, config, weights)
    assert loss.isfinite()
    assert torch.equal(loss, clean_loss)
    assert torch.equal(grad, clean_grad)
    assert (grad[affected] == 0).all()
    cached_loss, cached_grad = cached(batch, config, weights)
    assert cached_loss.isfinite()
    torch.testing.assert_close(cached_grad, grad, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("method", [method for method, _ in SETTINGS], ids=name)
def test_both_strategies_skip_the_same_updates(method: Method) -> None:
    """Of the neighbours, whose coefficients are 0 in some groups: whichever row is not finite."""
    case = random_case(0)
    mask, took_part = case.mask, case.row_mask(method)
    constants = case.constants(method)
    acting = (constants.coefficients != 0).float()
    acting = torch.zeros(len(acting)).index_add(0, case.groups, acting)[case.groups] > 0
    for row in range(len(case.labels)):
        log_probs = case.log_probs.clone()
        log_probs[row, 0] = math.nan
        grouped_loss = case.loss(method, log_probs)
        values = credited_objectives(log_probs, case.ref_log_probs, mask, method, constants.credit)
        columns = score_responses(
            sequence_log_ratios(log_probs, case.ref_log_probs, mask, allow_not_finite=True),
            mask.sum(dim=1),
            case.labels,
            case.groups,
            method,
            log_likelihoods=torch.where(mask, log_probs, 0).sum(dim=1),
            token_sums=values.sum(dim=1),
            row_mask=took_part,
        )
        cached_loss = advantage_loss(log_probs, values if method.tokenwise else None, mask, columns)
        assert grouped_loss.isnan() == cached_loss.isnan(), row
        assert acting[row] or not grouped_loss.isnan()


class Barrier(Method):
    """A loss that is infinite where the log-ratio is above a bound, with a gradient that is not."""

    def losses(self, rows: Rows) -> torch.Tensor:
        return torch.where(rows.log_ratios.detach() > 0, torch.inf, 0.0) + rows.log_ratios


def test_an_infinite_loss_has_no_advantage() -> None:
    """The worker skips an update whose loss is not finite, under either strategy."""
    batch = make_batch()
    mask = batch.response_mask & batch.row_mask[:, None]
    log_ratios = sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask)
    infinite = batch.row_mask & (log_ratios > 0)
    assert infinite.any()
    rest = mask.sum(dim=1), batch.labels, batch.group_ids, Barrier()
    advantages = score_responses(log_ratios, *rest, row_mask=batch.row_mask)["effective_advantage"]
    assert advantages[infinite].isnan().all()
    assert (advantages[batch.row_mask & ~infinite] == -1).all()


@pytest.mark.parametrize("strategy", [grouped, cached])
@pytest.mark.parametrize("config", [c for c in ALL_CONFIGS if c.estimator != "none"], ids=config_name)
def test_a_row_without_a_weight_is_compared_with_the_others(config: Pacs, strategy: Strategy) -> None:
    """Its group's losses depend on it, so that it is as bad as in any other row."""
    clean = make_batch()
    batch, row = poison(clean, "ref_log_probs", math.inf)
    affected, _ = affected_rows(batch, row, config)
    weights = torch.where(torch.arange(len(batch.labels)) == row, 0.0, 1.0)
    loss, grad = strategy(batch, config, weights)
    assert loss.isnan()
    others = affected & (torch.arange(len(batch.labels)) != row)
    assert grad[batch.response_mask & others[:, None]].isnan().all()


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_reward_that_is_not_finite_gives_a_dropped_group_no_advantage(estimator: str, value: float) -> None:
    batch, config = make_batch(), Pacs(estimator=estimator, single_class_groups="drop")
    active, weights = batch.constants(config).active, batch.constants(config).coefficients
    rewards = torch.linspace(-1, 1, len(batch.labels))
    rest = {"beta": 1.0, "estimator": estimator, "row_mask": batch.row_mask}
    clean = effective_advantages(rewards, batch.labels, weights, batch.group_ids, **rest)
    broken = torch.where(batch.group_ids == 5, value, rewards)
    result = effective_advantages(broken, batch.labels, weights, batch.group_ids, **rest)
    assert torch.equal(result, clean)
    assert (result[batch.group_ids == 5] == 0).all()
    assert result[active].abs().min() > 0


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scores_of_a_log_ratio_that_is_not_finite_are_nan(estimator: str, value: float) -> None:
    """Also where infinity alone would give a right answer's loss of 0 and an advantage of 0."""
    batch, config = make_batch(padding_rows=0), Pacs(estimator=estimator)
    log_ratios = torch.linspace(-1, 1, len(batch.labels))
    row = int(torch.nonzero((batch.group_ids == 7) & (batch.labels == 1))[0])
    log_ratios[row] = value
    rows = score_responses(log_ratios, batch.response_mask.sum(dim=1), batch.labels, batch.group_ids, config)
    assert rows["loss"][row].isnan()
    assert rows["effective_advantage"][row].isnan()


@pytest.mark.parametrize("config", ALL_CONFIGS, ids=config_name)
def test_what_the_masks_hide_stays_harmless(config: Pacs) -> None:
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
def test_gradient_caching_has_it_in_the_surrogate_of_its_group(config: Pacs, name: str, value: float) -> None:
    """Scored from what was not finite, though the gradient pass then gives finite log-probabilities."""
    clean = make_batch()
    batch, row = poison(clean, name, value)
    affected, others = affected_rows(batch, row, config)
    rows, clean_rows = score(batch, config), score(clean, config)
    for column in ("score", "loss", "effective_advantage"):
        assert rows[column][affected].isnan().all()
        assert torch.equal(rows[column][others], clean_rows[column][others])
    leaf = clean.log_probs.clone().requires_grad_()
    loss = surrogate_loss(leaf, batch.response_mask, rows["effective_advantage"], active=rows["active"])
    assert loss.isnan()
    assert gradient(loss, leaf)[batch.response_mask & affected[:, None]].isnan().all()


def test_the_default_refuses() -> None:
    batch, _ = poison(make_batch(), "ref_log_probs", -math.inf)
    mask = batch.response_mask & batch.row_mask[:, None]
    with pytest.raises(ValueError, match="not finite under response_mask: ref_log_probs in 1 of 22 rows"):
        sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask)
    with pytest.raises(ValueError, match="not finite under response_mask: ref_log_probs in 1 of 22 rows"):
        loss_gradient_rows(batch, Pacs())
