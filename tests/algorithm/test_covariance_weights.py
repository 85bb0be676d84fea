"""Clip-Cov's draw and KL-Cov's penalty: chosen over the whole batch, whatever its order, and beside plain loops."""

import math
from collections import Counter
from typing import Any

import pytest
import torch

from pacs.algorithm import Method, Pacs, batch_constants, check_method
from pacs.algorithm.aggregated import Dapo, DrGrpo, Grpo
from pacs.algorithm.covariance_weights import ClipCov, KlCov
from pacs.algorithm.drift import drift_penalty
from pacs.algorithm.kit_case import random_case
from pacs.algorithm.nft import Nft
from tests.algorithm.test_token_weights import Batch, weighted

KL_COV: dict[str, Any] = {"name": "kl_cov", "kl_cov": {"share": 0.2, "coefficient": 0.7}}


def covariances(batch: Batch) -> dict[tuple[int, int], float]:
    """(A - mean A)(ln pi - mean ln pi) of each token that counts, one after the other."""
    log_probs = {(i, t): float(batch.streams()["old_log_probs"][i, t]) for i, t in batch.tokens()}
    means = [
        sum(values) / len(log_probs) for values in ([batch.grpo_advantage(i) for i, _ in log_probs], log_probs.values())
    ]
    return {(i, t): (batch.grpo_advantage(i) - means[0]) * (own - means[1]) for (i, t), own in log_probs.items()}


def clipped(batch: Batch, order: torch.Tensor | None = None, **settings: Any) -> set[tuple[int, int]]:
    """Row (as the batch numbers it) and place of each token of weight 0, of the batch in another order."""
    order = torch.arange(11) if order is None else order
    streams = {name: values[order] for name, values in batch.streams().items()}
    method = weighted(Grpo, {"name": "clip_cov", "clip_cov": {"low": 0.1, "high": 5.0, **settings}})
    given = {"response_mask": batch.mask[order], "streams": streams}
    found = batch_constants(batch.labels[order], batch.groups[order], method, batch.row_mask[order], **given)
    assert found.token_weights is not None
    return {(int(order[i]), t) for i, t in (found.token_weights == 0).nonzero().tolist()}


def test_so_many_of_the_band_are_drawn_and_no_others() -> None:
    batch = Batch()
    band = {token for token, value in covariances(batch).items() if 0.1 < value < 5}
    tokens = len(batch.tokens())
    for share, count in ((0.0002, 1), (0.05, int(0.05 * tokens)), (0.1, int(0.1 * tokens)), (1.0, len(band))):
        found = clipped(batch, share=share)
        assert found <= band
        assert len(found) == count
    assert clipped(batch, low=100.0, high=101.0) == set()
    assert int(0.1 * tokens) < len(band)  # otherwise nothing was drawn


def test_the_draw_is_that_of_any_order_and_of_another_with_another_seed() -> None:
    batch = Batch()
    drawn = clipped(batch, share=0.1)
    for seed in range(5):
        order = torch.randperm(11, generator=torch.Generator().manual_seed(seed))
        assert clipped(batch, order, share=0.1) == drawn
    assert len({frozenset(clipped(batch, share=0.1, seed=seed)) for seed in range(8)}) > 4


def test_each_of_the_band_is_drawn_as_often() -> None:
    batch = Batch()
    band = [token for token, value in covariances(batch).items() if 0.1 < value < 5]
    draws = Counter(token for seed in range(600) for token in clipped(batch, share=0.1, seed=seed))
    count = int(0.1 * len(batch.tokens()))
    expected = 600 * count / len(band)
    spread = math.sqrt(600 * count / len(band) * (1 - count / len(band)))
    assert all(abs(draws[token] - expected) < 4.5 * spread for token in band)


def test_kl_covs_are_the_highest_and_ties() -> None:
    batch = Batch()
    of_all = sorted(covariances(batch).items(), key=lambda each: -each[1])
    constants = batch_constants(
        batch.labels, batch.groups, weighted(Grpo, KL_COV), batch.row_mask,
        response_mask=batch.mask, streams=batch.streams(),
    )  # fmt: skip
    assert constants.penalties is not None
    expected = torch.zeros(11, 9, dtype=torch.float64)
    for (i, t), _ in of_all[: int(0.2 * len(of_all))]:
        expected[i, t] = 0.7
    assert torch.equal(constants.penalties, expected)
    assert torch.equal(constants.token_weights, torch.ones(11, 9, dtype=torch.float64))
    mask, same = torch.ones(1, 4, dtype=torch.bool), {"old_log_probs": torch.full((1, 4), -1.0)}
    assert KlCov(share=0.25).penalties(mask, same, lambda: torch.ones(1, 4)).tolist() == [[1.0] * 4]
    none = torch.zeros(1, 4, dtype=torch.bool)
    assert KlCov().penalties(none, same, lambda: torch.ones(1, 4)).tolist() == [[0.0] * 4]
    assert ClipCov().weights(none, same, lambda: torch.ones(1, 4)).all()


@pytest.mark.parametrize(
    ("method", "settings"),
    [(Pacs, {}), (Pacs, {"beta": 0.3, "single_class_groups": "drop"}), (Grpo, {}), (DrGrpo, {"max_response_tokens": 5}),
     (Dapo, {"aggregation": "seq-mean-token-sum"}), (Nft, {})],
)  # fmt: skip
def test_the_kit_passes_with_a_penalty(method: type[Method], settings: dict[str, Any]) -> None:
    check_method(weighted(method, KL_COV, **settings), detached=method is Nft)


def test_the_penalty_pulls_what_has_moved_and_nothing_else() -> None:
    """The gradient is that without, plus c/N times the sign of the log-ratio at the tokens that were chosen."""
    case, method = random_case(0), weighted(Pacs, KL_COV)
    constants = case.constants(method)
    assert constants.penalties is not None
    signs = torch.where(case.mask, (case.log_probs - case.ref_log_probs).sign(), 0)
    pull = constants.penalties * signs / constants.shares.sum()
    assert 0 < int((pull != 0).sum()) < int(case.mask.sum()) / 3
    expected = case.gradient(Pacs(), case.log_probs) + pull
    torch.testing.assert_close(case.gradient(method, case.log_probs), expected, rtol=1e-12, atol=1e-15)
    # In a step's first update policy and sampler agree: it is PACS.
    torch.testing.assert_close(case.gradient(method, case.ref_log_probs), case.gradient(Pacs(), case.ref_log_probs))


def test_a_penalty_reads_the_tokens_that_it_is_of() -> None:
    log_probs = torch.tensor([[-1.0, torch.nan, -2.0, -3.0]], requires_grad=True)
    sampler, mask = torch.tensor([[-2.0, torch.nan, -1.0, -9.0]]), torch.tensor([[1, 0, 1, 1]])
    value = drift_penalty(log_probs, sampler, mask, torch.tensor([[0.5, 9.0, 2.0, 0.0]]))
    assert value.item() == 0.5 + 2.0
    assert torch.autograd.grad(value, log_probs)[0].tolist() == [[0.5, 0.0, -2.0, 0.0]]
    assert drift_penalty(log_probs, sampler, mask, None).item() == 0


def test_groups_that_pull_alike_have_penalties_that_do() -> None:
    case, method = random_case(0), weighted(Grpo, KL_COV)
    streams = {"old_log_probs": case.log_probs}
    given = {"response_mask": case.mask, "streams": streams}
    part = case.row_mask(method)
    plain = batch_constants(case.labels, case.groups, method, part, **given)
    alike = batch_constants(case.labels, case.groups, method, part, equal_groups=True, **given)
    assert alike.weights is not None
    assert torch.equal(alike.penalties, plain.penalties * alike.weights[:, None])
    assert not torch.equal(alike.penalties, plain.penalties)
