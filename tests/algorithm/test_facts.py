"""What docs/algorithm.md says of effective advantages and of the loss at the reference, on random groups."""

import math
from dataclasses import replace

import pytest
import torch

from pacs.algorithm import Pacs, method_loss

from .naive import ALL_CONFIGS, Batch, config_name, make_batch

COMPARING = [config for config in ALL_CONFIGS if config.estimator != "none"]
IDS = [7, -3, 10**12, 0, 5]


def columns(batch: Batch, config: Pacs) -> dict[str, torch.Tensor]:
    return method_loss(*batch.inputs, config, row_mask=batch.row_mask)[1]


def group_sums(batch: Batch, values: torch.Tensor) -> torch.Tensor:
    return torch.stack([values[(batch.group_ids == group) & batch.row_mask].sum() for group in IDS])


@pytest.mark.parametrize("config", COMPARING, ids=config_name)
def test_what_of_a_group_sums_to_zero(config: Pacs) -> None:
    """A_i; with the length-normalised proxy |o_i| A_i; with the policy-gradient term, which is -w_i l_i, without it."""
    batch = make_batch(seed=20)
    rows = columns(batch, config)
    own = rows["effective_advantage"] + (rows["loss"] if config.policy_gradient_term else 0)
    zero = own * rows["tokens"] if config.normalize_by_length else own
    torch.testing.assert_close(group_sums(batch, zero), torch.zeros(5, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "config",
    [c for c in COMPARING if c.normalize_by_length != c.policy_gradient_term and c.single_class_groups == "keep"],
    ids=config_name,
)
def test_with_either_option_the_advantages_themselves_do_not(config: Pacs) -> None:
    """With the policy-gradient term they sum to minus the group's losses; by length, to nothing in particular."""
    batch = make_batch(seed=20)
    rows = columns(batch, config)
    sums = group_sums(batch, rows["effective_advantage"])
    assert sums.abs().min() > 1e-7  # rounding leaves 1e-16
    if config.policy_gradient_term:
        torch.testing.assert_close(sums, -group_sums(batch, rows["loss"]), rtol=1e-9, atol=1e-12)
        assert sums.max() < 0


@pytest.mark.parametrize("normalize", [False, True])
def test_those_of_no_comparison_sum_to_nothing_in_particular(normalize: bool) -> None:
    batch = make_batch(seed=20)
    rows = columns(batch, Pacs(estimator="none", normalize_by_length=normalize))
    zero = rows["effective_advantage"] * (rows["tokens"] if normalize else 1)
    assert group_sums(batch, zero).abs().min() > 1e-2


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("estimator", ["rloo", "dr_grpo", "grpo"])
def test_in_a_group_of_one_class_they_pull_the_scores_together(estimator: str, label: int, normalize: bool) -> None:
    """The advantages fall as the scores rise: that of the lowest is above 0, that of the highest below."""
    batch = make_batch(seed=21, sizes=(5,), padding_rows=0)
    batch = replace(batch, labels=torch.full((5,), label))
    rows = columns(batch, Pacs(estimator=estimator, normalize_by_length=normalize))
    pull = rows["effective_advantage"] * (rows["tokens"] if normalize else 1)
    if estimator != "grpo":  # whose scores keep their spread
        ordered = pull[rows["score"].argsort()]
        assert (ordered.diff() < 0).all()
        assert ordered[0] > 0 > ordered[-1]
    else:
        centered = rows["score"] - rows["score"].mean()
        assert abs((pull * centered).sum().item()) < 1e-3 * pull.abs().max().item()


@pytest.mark.parametrize(
    "config",
    [c for c in ALL_CONFIGS if not c.policy_gradient_term and c.objective != "log_pass_rate"],
    ids=config_name,
)
def test_at_the_reference_the_loss_is_log_2_and_beta_a_factor_of_the_update(config: Pacs) -> None:
    batch = make_batch(seed=22)
    batch = replace(batch, ref_log_probs=batch.log_probs)
    loss, rows = method_loss(*batch.inputs, config, row_mask=batch.row_mask)
    assert loss.item() == pytest.approx(math.log(2), rel=1e-12)
    tripled = columns(batch, config.model_copy(update={"beta": 3 * config.beta}))
    torch.testing.assert_close(tripled["effective_advantage"], 3 * rows["effective_advantage"], rtol=1e-12, atol=0)


def test_at_the_reference_a_larger_group_moves_the_policy_more() -> None:
    """sum |A_i| = beta G^2 / (2 (G-1)) in mixed groups, whatever the share of right ones."""
    for size, right in ((8, 1), (8, 4), (32, 5)):
        batch = make_batch(seed=24, sizes=(size,), padding_rows=0)
        labels = torch.tensor([1] * right + [0] * (size - right))
        batch = replace(batch, ref_log_probs=batch.log_probs, labels=labels)
        moved = columns(batch, Pacs(beta=0.5))["effective_advantage"].abs().sum().item()
        assert moved == pytest.approx(0.5 * size**2 / (2 * (size - 1)), rel=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_dr_grpo_is_rloo_with_a_beta_of_the_groups_own_size(normalize: bool) -> None:
    """Groups of three, four and five: no single beta does for all."""
    batch = make_batch(seed=23)
    advantages = columns(batch, Pacs(estimator="dr_grpo", normalize_by_length=normalize))["effective_advantage"]
    for group, size in zip(IDS, (4, 3, 5, 3, 3), strict=True):
        config = Pacs(estimator="rloo", beta=(size - 1) / size, normalize_by_length=normalize)
        here = (batch.group_ids == group) & batch.row_mask
        torch.testing.assert_close(columns(batch, config)["effective_advantage"][here], advantages[here])
