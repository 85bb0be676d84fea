"""Credit for each token: methods of a few lines, held to loops in plain Python, under both strategies and any split."""

import math
from dataclasses import replace
from typing import Literal

import pytest
import torch

from pacs.algorithm import (
    CorrectionConfig,
    Method,
    Rows,
    TrainBatch,
    advantages,
    batch_constants,
    check_method,
    correction_weights,
    credited_objectives,
    method_loss,
    scale_gradient,
)
from pacs.algorithm.aggregated import Aggregated, Grpo
from pacs.algorithm.kit_case import random_case
from pacs.algorithm.policy_gradient import ComparedInGroup


class EntropyWeighted(Grpo):
    """Tokens count by the entropy that they were sampled with."""

    READS = ("entropy",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return advantages.normalized(batch.labels, batch.groups)[:, None] * batch.streams["entropy"]


class EarlyTokens(ComparedInGroup):
    """The first token counts most, and each after it half as much: by place among the policy's own tokens."""

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        assert batch.response_mask is not None
        return advantages.centered(batch.labels, batch.groups)[:, None] * 0.5 ** batch.response_mask.cumsum(1)


class BySegment(ComparedInGroup):
    """Monte-Carlo values at the beginning of segments: the advantage of a token is its segment's gain."""

    READS = ("value_before", "value_after")

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return batch.streams["value_after"] - batch.streams["value_before"]


class WithCritic(Aggregated):
    """The label less a critic's value of what stands before the token."""

    READS = ("values",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return batch.labels[:, None] - batch.streams["values"]


class WeightedScore(Method):
    """No policy gradient: the log-ratio, each token weighted by its entropy, is regressed to the label."""

    READS = ("entropy",)

    @property
    def tokenwise(self) -> bool:
        return True

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return batch.streams["entropy"]

    def losses(self, rows: Rows) -> torch.Tensor:
        assert rows.token_sums is not None
        return (rows.token_sums - rows.labels) ** 2


class TokenHinge(Method):
    """max(0, 1 - y d_t) of each token, with y = 1 of right and -1 of wrong responses: a hinge for each token."""

    @property
    def tokenwise(self) -> bool:
        return True

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return advantages.signed_label(batch.labels, batch.groups)

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        return credit.sign() * (credit * log_ratios).clamp(max=1)

    def losses(self, rows: Rows) -> torch.Tensor:
        assert rows.token_sums is not None
        return rows.lengths - rows.token_sums


METHODS: list[Method] = [EntropyWeighted(), EarlyTokens(), BySegment(), WithCritic(), WeightedScore(), TokenHinge()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_kit_passes(method: Method) -> None:
    """Both strategies, splits, orders and finite differences; the kit's masks have holes, as those of several turns."""
    for seed in range(2):
        check_method(method, seed=seed)


def naive(method: Method, leaf: torch.Tensor) -> torch.Tensor:
    """The loss of the kit's case, a token at a time."""
    case = random_case(0)
    total, n = torch.zeros((), dtype=torch.float64), 0.0
    for i in range(len(case.labels)):
        members = [j for j in range(len(case.labels)) if case.groups[j] == case.groups[i]]
        if len(members) < method.smallest_group:
            continue
        label = float(case.labels[i])
        rate = sum(float(case.labels[j]) for j in members) / len(members)
        std = (sum((float(case.labels[j]) - rate) ** 2 for j in members) / max(1, len(members) - 1)) ** 0.5
        tokens = [t for t in range(leaf.shape[1]) if case.mask[i, t]]
        n += len(tokens) if isinstance(method, Aggregated) else 1
        weighted = torch.zeros((), dtype=torch.float64)
        for place, t in enumerate(tokens):
            d, stream = leaf[i, t] - case.ref_log_probs[i, t], float(case.stream[i, t])
            if isinstance(method, TokenHinge):
                total = total + (1 - (2 * label - 1) * d).clamp(min=0)
                continue
            if isinstance(method, WeightedScore):
                weighted = weighted + stream * d
                continue
            credit = {
                EntropyWeighted: (label - rate) / (std + 1e-6) * stream,
                EarlyTokens: (label - rate) * 0.5 ** (place + 1),
                BySegment: stream,  # the kit's second stream is twice its first
                WithCritic: label - stream,
            }[type(method)]
            rho = d.exp()
            objective = torch.minimum(credit * rho, credit * rho.clamp(0.8, 1.2))
            total = total - (objective if credit >= 0 else objective.clamp(min=3 * credit))
        if isinstance(method, WeightedScore):
            total = total + (weighted - label) ** 2
    return total / n


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_it_is_its_own_loop(method: Method) -> None:
    case = random_case(0)
    far = torch.where(case.mask, case.log_probs + 2 * (case.log_probs - case.ref_log_probs), case.log_probs)
    leaf = far.clone().requires_grad_()
    wanted = naive(method, leaf)
    torch.testing.assert_close(case.loss(method, far), wanted.detach(), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(case.gradient(method, far), torch.autograd.grad(wanted, leaf)[0], rtol=1e-9, atol=1e-12)


def test_a_token_without_credit_has_no_influence() -> None:
    """Whatever stands there: credit of 0 takes a token out of the objective."""
    case = random_case(0)
    stream = torch.where(torch.arange(5) == 2, 0, case.stream)
    broken = torch.where((torch.arange(5) == 2) & case.mask, torch.nan, case.log_probs)
    constants = batch_constants(
        case.labels, case.groups, WithoutRatios(), response_mask=case.mask, streams={"weights": stream}
    )
    values = credited_objectives(broken, case.ref_log_probs, case.mask, WithoutRatios(), constants.credit)
    assert values.isfinite().all()
    assert (values[:, 2] == 0).all()


class WithoutRatios(ComparedInGroup):
    """Credit that is read as it is."""

    READS = ("weights",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return batch.streams["weights"]


def test_what_is_read_has_to_be_there() -> None:
    case = random_case(0)
    given = {"labels": case.labels, "group_ids": case.groups, "method": WithCritic(), "response_mask": case.mask}
    with pytest.raises(ValueError, match="WithCritic reads values of each token, which is not there"):
        batch_constants(**given, streams={"entropy": case.stream})
    with pytest.raises(ValueError, match=r"values has shape \(19, 4\)"):
        batch_constants(**given, streams={"values": case.stream[:, :4]})
    broken = torch.where(case.mask, torch.nan, case.stream)
    with pytest.raises(ValueError, match="values is not finite in 19 of 19 rows"):
        batch_constants(**given, streams={"values": broken})
    outside = torch.where(case.mask, case.stream, torch.nan)
    assert batch_constants(**given, streams={"values": outside}).credit.isfinite().all()


def test_the_effective_advantage_of_a_response_is_its_tokens_mean_at_the_reference() -> None:
    case, method = random_case(0), EntropyWeighted()
    same = replace(case, ref_log_probs=case.log_probs)
    constants = same.constants(method)
    _, columns = method_loss(
        same.log_probs, same.log_probs, same.mask, same.labels, same.groups, method,
        row_mask=same.row_mask(method), constants=constants,
    )  # fmt: skip
    assert constants.credit is not None
    for i in range(len(same.labels)):
        tokens = [float(constants.credit[i, t]) for t in range(same.mask.shape[1]) if same.mask[i, t]]
        expected = sum(tokens) / len(tokens) if tokens else 0.0
        assert float(columns["effective_advantage"][i]) == pytest.approx(expected, rel=1e-12, abs=1e-15)


# Off-policy correction


def test_the_weights_are_the_ratios_truncated_or_masked() -> None:
    """pi_old/mu of 1/e^3, 1/e^0.1, 1, e^0.1 and e^3."""
    rollout = torch.full((1, 6), -2.0, dtype=torch.float64)
    old = rollout + torch.tensor([[-3.0, -0.1, 0.0, 0.1, 3.0, 5.0]], dtype=torch.float64)
    mask = torch.tensor([[True] * 5 + [False]])
    near = [0.9048374180359595, 1.0, 1.1051709180756477]
    expected = {"truncate": [0.049787068367863944, *near, 1.5, 1.0], "mask": [0.0, *near, 0.0, 1.0]}
    for kind, weights in expected.items():
        found = correction_weights(old, rollout, mask, CorrectionConfig(kind=kind, cap=1.5))
        assert found[0].tolist() == pytest.approx(weights, rel=1e-12)


def test_a_ratio_that_float32_cannot_hold_is_a_large_one() -> None:
    """e^100 is beyond it, and e^-120 rounds to 0; a log-probability that is not finite has the weight 1."""
    rollout = torch.tensor([[-101.0, -1.0, -1.0, -1.0], [-1.0, -1.0, -1.0, -1.0]])
    old = torch.tensor([[-1.0, -121.0, -1.0, -torch.inf], [-1.0, -1.0, torch.nan, -torch.inf]])
    mask = torch.ones_like(old, dtype=torch.bool)
    expected = {"truncate": [2.0, 0.0, 1.0, 1.0], "mask": [0.0, 0.0, 1.0, 1.0]}
    for kind, weights in expected.items():
        found = correction_weights(old, rollout, mask, CorrectionConfig(kind=kind, cap=2.0))
        assert found.tolist() == [weights, [1.0] * 4]
    # By the mean of the finite gaps, (100 - 120 + 0)/3 = -6.7; of 100 alone it is far too large.
    for cap, rejected in ((math.exp(7), False), (math.exp(6), True)):
        found = correction_weights(old, rollout, mask, CorrectionConfig(sequence_cap=cap))
        assert found.tolist() == [[0.0 if rejected else 1.0] * 3 + [1.0], [1.0] * 4]
    alone = torch.tensor([[True, False, False, False], [True, False, False, False]])
    found = correction_weights(old, rollout, alone, CorrectionConfig(sequence_cap=1.05))
    assert found[:, 0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("kind", [None, "truncate", "mask"])
def test_a_response_far_from_what_was_sampled_is_rejected(kind: Literal["truncate", "mask"] | None) -> None:
    """By the geometric mean of its tokens' ratios, on either side; what is outside the mask has no part in it."""
    rng = torch.Generator().manual_seed(0)
    rollout = -torch.rand(40, 9, generator=rng, dtype=torch.float64)
    old = rollout + 0.3 * torch.randn(40, 9, generator=rng, dtype=torch.float64)
    mask = torch.rand(40, 9, generator=rng) < 0.7
    old[0, 0] = -torch.inf
    config = CorrectionConfig(kind=kind, cap=1.5 if kind else 2.0, sequence_cap=1.05)
    found = correction_weights(old, rollout, mask, config)
    rejected = 0
    for i in range(40):
        ratios = [math.exp(old[i, t] - rollout[i, t]) for t in range(9) if mask[i, t] and old[i, t].isfinite()]
        mean = math.prod(ratios) ** (1 / len(ratios)) if ratios else 1.0
        far = mean > 1.05 or mean < 1 / 1.05
        rejected += far
        for t in range(9):
            ratio = math.exp(old[i, t] - rollout[i, t])
            expected = {None: 1.0, "truncate": min(ratio, 1.5), "mask": ratio if 1 / 1.5 <= ratio <= 1.5 else 0.0}[kind]
            if not mask[i, t] or not old[i, t].isfinite():
                expected = 1.0
            elif far:
                expected = 0.0
            assert float(found[i, t]) == pytest.approx(expected, rel=1e-12)
    assert 5 < rejected < 35


@pytest.mark.parametrize("method", [Grpo(), EntropyWeighted(), WeightedScore()], ids=lambda m: type(m).__name__)
def test_the_gradient_of_each_token_is_multiplied_and_no_value_changes(method: Method) -> None:
    case = random_case(0)
    factors = torch.rand(case.mask.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    leaf = case.log_probs.clone().requires_grad_()
    loss = case.loss(method, scale_gradient(leaf, factors))
    torch.testing.assert_close(loss.detach(), case.loss(method, case.log_probs), rtol=1e-12, atol=0)
    (found,) = torch.autograd.grad(loss, leaf)
    torch.testing.assert_close(found, factors * case.gradient(method, case.log_probs), rtol=1e-12, atol=1e-15)
