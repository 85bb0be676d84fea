import math
import re
from dataclasses import replace

import pytest
import torch

from pacs.algorithm import PacsConfig, loss_metrics, pacs_loss

from .naive import (
    ALL_CONFIGS,
    config_name,
    make_batch,
    naive_counted,
    naive_loss,
    naive_members,
    naive_rewards,
    naive_score,
)


@pytest.mark.parametrize(
    "config", [config for config in ALL_CONFIGS if config.weight_scope == "group"], ids=config_name
)
def test_equal_the_naive_metrics(config: PacsConfig) -> None:
    """Each by its formula, over the rows that count; `loss` is without the policy-gradient term."""
    batch = make_batch(seed=8)
    config = replace(config, beta=3.0)  # some rows saturate
    _, metrics = pacs_loss(*batch.inputs, config, row_mask=batch.row_mask)

    rewards = naive_rewards(batch, config)
    log_ratios = naive_rewards(batch, PacsConfig())
    counted = naive_counted(batch, config)
    psi = {i: naive_score(i, naive_members(batch, i), rewards, config.estimator).item() for i in counted}
    labels = {i: int(batch.labels[i]) for i in counted}
    residual = {i: abs(1 / (1 + math.exp(-psi[i])) - labels[i]) for i in counted}
    n = len(counted)
    expected = {
        "loss": naive_loss(batch, replace(config, policy_gradient_term=False)).item(),
        "residual": sum(residual.values()) / n,
        "saturated_fraction": sum(residual[i] < 0.01 for i in counted) / n,
        "critic_accuracy": sum((psi[i] > 0) == (labels[i] == 1) for i in counted) / n,
        "log_ratio": sum(log_ratios[i].item() for i in counted) / n,
        "score_sum_correct": sum(psi[i] for i in counted if labels[i]),
        "score_sum_wrong": sum(psi[i] for i in counted if not labels[i]),
        "rows_correct": sum(labels.values()),
        "rows_wrong": n - sum(labels.values()),
        "mixed_rows": sum(len({int(batch.labels[j]) for j in naive_members(batch, i)}) == 2 for i in counted),
        "grpo_fallback_groups": 0,
    }
    assert {name: value.item() for name, value in metrics.items()} == pytest.approx(expected, rel=1e-9)


def test_saturation_and_a_tie_by_hand() -> None:
    """Group 0 has psi = 10, -10 and is right and sure: saturated. Group 1 has psi = 0: both predict wrong."""
    log_probs = torch.tensor([[0.0], [-10.0], [-3.0], [-3.0]])
    labels, ids = torch.tensor([1, 0, 1, 1]), torch.tensor([0, 0, 1, 1])
    _, metrics = pacs_loss(log_probs, torch.full((4, 1), -3.0), torch.ones(4, 1), labels, ids, PacsConfig())
    assert metrics["saturated_fraction"] == 0.5
    assert metrics["critic_accuracy"] == 0.5
    assert metrics["residual"].item() == pytest.approx(0.25, abs=1e-4)
    assert metrics["log_ratio"].item() == pytest.approx((3 - 7) / 4)


def test_grpo_fallback_groups_are_counted() -> None:
    """Of five groups two have no spread; of these the single-class one (5) is not counted when it is dropped,
    and the group that is all padding (99) never."""
    batch = make_batch()
    agree = (batch.group_ids == 0) | (batch.group_ids == 5)
    batch = replace(batch, ref_log_probs=torch.where(agree[:, None], batch.log_probs, batch.ref_log_probs))

    def count(**settings: str) -> float:
        _, metrics = pacs_loss(*batch.inputs, PacsConfig(**settings), row_mask=batch.row_mask)
        return metrics["grpo_fallback_groups"].item()

    assert count(estimator="grpo") == 2
    assert count(estimator="grpo", single_class_groups="drop") == 1
    assert count(estimator="dr_grpo") == 0


def test_are_detached_scalars_in_the_dtype_of_the_loss() -> None:
    batch = make_batch().to(torch.bfloat16)
    leaf = batch.log_probs.clone().requires_grad_()
    for config in (PacsConfig(), PacsConfig(estimator="grpo")):
        _, metrics = pacs_loss(leaf, *batch.inputs[1:], config, row_mask=batch.row_mask)
        for name, value in metrics.items():
            assert (value.shape, value.dtype, value.requires_grad) == ((), torch.float32, False), name


def test_no_row_that_counts_gives_zeros() -> None:
    batch = make_batch()
    _, metrics = pacs_loss(*batch.inputs, PacsConfig(estimator="grpo"), row_mask=torch.zeros(22))
    assert {value.item() for value in metrics.values()} == {0.0}


def test_the_table_names_every_metric() -> None:
    """The docstring's table is what the docs are made from."""
    batch = make_batch()
    _, metrics = pacs_loss(*batch.inputs, PacsConfig(), row_mask=batch.row_mask)
    assert re.findall(r"^\| `(\w+)`", loss_metrics.__doc__ or "", re.MULTILINE) == list(metrics)
