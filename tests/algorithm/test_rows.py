"""What is known of each row, against its formula one row at a time."""

from dataclasses import replace

import pytest
import torch

from pacs.algorithm import Pacs, method_loss, row_columns, surrogate_loss

from .naive import (
    ALL_CONFIGS,
    Batch,
    config_name,
    gradient,
    make_batch,
    naive_counted,
    naive_loss,
    naive_members,
    naive_rewards,
    naive_score,
    naive_weight,
)


@pytest.mark.parametrize("config", [c for c in ALL_CONFIGS if c.weight_scope == "group"], ids=config_name)
def test_columns_equal_the_naive_values(config: Pacs) -> None:
    batch = make_batch(seed=8)
    _, rows = method_loss(*batch.inputs, config, row_mask=batch.row_mask)
    assert tuple(rows) == row_columns(config)

    rewards, log_ratios = naive_rewards(batch, config), naive_rewards(batch, Pacs())
    active = naive_counted(batch, config)
    assert torch.nonzero(rows["active"]).flatten().tolist() == active
    leaf = batch.log_probs.clone().requires_grad_()
    token_gradient = gradient(naive_loss(replace(batch, log_probs=leaf), config), leaf)
    for i in active:
        members = naive_members(batch, i)
        score = naive_score(i, members, rewards, config.estimator)
        sigma, label = torch.sigmoid(score), batch.labels[i]
        first_token = torch.nonzero(batch.response_mask[i])[0, 0]
        expected = {
            "correct": float(label),
            "loss": -naive_weight(i, batch, config) * torch.log(sigma if label else 1 - sigma).item(),
            "score": score.item(),
            "mixed": float(0 < sum(float(batch.labels[j]) for j in members) < len(members)),
            "log_ratio": log_ratios[i].item(),
            "tokens": float(batch.response_mask[i].sum()),
            "effective_advantage": -len(active) * token_gradient[i, first_token].item(),
            "grpo_fallback": 0.0,
        }
        assert {name: rows[name][i].item() for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_rows_outside_the_mask_are_zero_whatever_they_hold() -> None:
    batch = make_batch(seed=2)
    _, rows = method_loss(*batch.inputs, Pacs(), row_mask=batch.row_mask)
    for name, values in rows.items():
        assert values[~batch.row_mask].tolist() == [0.0] * int((~batch.row_mask).sum()), name


def test_columns_carry_no_gradient() -> None:
    batch = make_batch()
    leaf = batch.log_probs.clone().requires_grad_()
    _, rows = method_loss(leaf, *batch.inputs[1:], Pacs(), row_mask=batch.row_mask)
    assert not any(values.requires_grad for values in rows.values())


def test_at_the_reference_itself_the_scores_are_zero_and_the_update_is_reinforce() -> None:
    """r = 0: sigma(psi) = 1/2, and e_i = w_i (1/2 - R_i), whatever beta is inside the sigmoid."""
    batch = make_batch(seed=4)
    same = Batch(**(vars(batch) | {"ref_log_probs": batch.log_probs}))
    _, rows = method_loss(*same.inputs, Pacs(objective="pass_rate"), row_mask=batch.row_mask)
    assert rows["score"].tolist() == [0.0] * len(batch.labels)
    for i in naive_counted(batch, Pacs()):
        members = naive_members(batch, i)
        others = [float(batch.labels[j]) for j in members if j != i]
        expected = float(batch.labels[i]) - sum(others) / len(others)
        assert rows["effective_advantage"][i].item() == pytest.approx(expected, abs=1e-12)


def test_a_surrogate_without_a_counted_row_is_zero_with_a_gradient_of_zeros() -> None:
    leaf = torch.full((2, 3), torch.nan, requires_grad=True)
    loss = surrogate_loss(leaf, torch.ones(2, 3), torch.ones(2), active=torch.zeros(2), denominator=0)
    assert loss.item() == 0
    assert gradient(loss, leaf).tolist() == [[0.0] * 3] * 2


def test_a_surrogate_refuses_shapes_that_would_broadcast() -> None:
    log_probs, mask = torch.zeros(2, 3), torch.ones(2, 3)
    with pytest.raises(ValueError, match=r"advantages has shape \(1,\), where \(2,\) is needed"):
        surrogate_loss(log_probs, mask, torch.ones(1), active=torch.ones(2))
    with pytest.raises(ValueError, match=r"response_mask has shape"):
        surrogate_loss(log_probs, mask[:1], torch.ones(2), active=torch.ones(2))
