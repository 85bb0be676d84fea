"""Groups that pull alike whatever their size (`batch_constants(equal_groups=True)`), against each group by itself."""

from dataclasses import replace

import pytest
import torch

from pacs.algorithm import Method, Pacs, advantage_loss, batch_constants, method_loss, score_responses
from pacs.algorithm.aggregated import DrGrpo, Grpo
from pacs.algorithm.constants import credit_means
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.log_ratio import credited_objectives, sequence_log_ratios
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl
from pacs.algorithm.real import Real

from .naive import Batch, gradient, make_batch, naive_loss
from .naive_family import NAIVE, groups_of

#: Uneven groups, the last of one class, as a second stage of rollouts leaves them.
SIZES = (4, 9, 5, 3, 7, 3)
METHODS: list[Method] = [
    Pacs(),
    Pacs(estimator="grpo", objective="log_pass_rate", policy_gradient_term=True),
    Pacs(single_class_groups="drop"),
    Gvpo(),
    Real(),
    Disco(kl_weight=0.0),
    Nft(),
    MaxRl(),
]


def batch_of(seed: int = 1) -> Batch:
    batch = make_batch(seed, SIZES, padding_rows=3)
    return replace(batch, labels=batch.labels.double())


def of_each_group(batch: Batch, leaf: torch.Tensor, method: Method) -> list[torch.Tensor]:
    """The naive mean loss of each group that counts, by itself."""
    losses = []
    for group in batch.group_ids[batch.row_mask].unique():
        rows = ((batch.group_ids == group) & batch.row_mask).nonzero().squeeze(1)
        one = replace(batch.take(rows), log_probs=leaf[rows])
        mixed = 0 < int(one.labels.sum()) < len(rows)
        if mixed or not (isinstance(method, Real | Nft) or getattr(method, "single_class_groups", "") == "drop"):
            naive = isinstance(method, Pacs)
            losses.append(naive_loss(one, method) if naive else NAIVE[type(method)](groups_of(one, leaf[rows]), method))
    return losses


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_the_update_is_the_mean_over_groups_of_each_groups_own_mean(method: Method) -> None:
    batch = batch_of()
    leaf = batch.log_probs.clone().requires_grad_()
    wanted = torch.stack(of_each_group(batch, leaf, method)).mean()
    constants = equal_constants(batch, method)
    own = batch.log_probs.clone().requires_grad_()
    loss, columns = method_loss(own, *batch.inputs[1:], method, row_mask=batch.row_mask, constants=constants)
    torch.testing.assert_close(gradient(loss, own), gradient(wanted, leaf), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(gradient(scored(batch, method, own), own), gradient(loss_of(batch, method, own), own))
    # N is the number of rows that count, and the mean of what is known of their losses is the loss.
    assert float(constants.shares.sum()) == pytest.approx(float(constants.active.sum()))
    active = columns["active"] == 1
    assert float(columns["loss"][active].mean()) == pytest.approx(loss.item())


def equal_constants(batch: Batch, method: Method) -> torch.Tensor:
    mask = batch.response_mask
    return batch_constants(batch.labels, batch.group_ids, method, batch.row_mask, response_mask=mask, equal_groups=True)


def loss_of(batch: Batch, method: Method, leaf: torch.Tensor) -> torch.Tensor:
    constants = equal_constants(batch, method)
    return method_loss(leaf, *batch.inputs[1:], method, row_mask=batch.row_mask, constants=constants)[0]


def scored(batch: Batch, method: Method, leaf: torch.Tensor) -> torch.Tensor:
    """The same by effective advantages, as `method.update.strategy=cached` takes it."""
    constants, mask = equal_constants(batch, method), batch.response_mask & batch.row_mask[:, None]
    objectives = None
    if method.tokenwise:
        objectives = credited_objectives(leaf, batch.ref_log_probs, mask, method, constants.credit)
    columns = score_responses(
        sequence_log_ratios(batch.log_probs, batch.ref_log_probs, mask),
        mask.sum(dim=1),
        batch.labels,
        batch.group_ids,
        method,
        log_likelihoods=batch.log_likelihoods if method.needs_log_likelihoods else None,
        token_sums=None if objectives is None else objectives.sum(dim=1),
        row_mask=batch.row_mask,
        coefficients=constants.coefficients,
        credit=credit_means(constants.credit, mask),
        weights=constants.weights,
    )
    return advantage_loss(leaf, objectives, mask, columns, denominator=constants.shares.sum())


def test_a_sum_over_tokens_is_divided_by_tokens_that_are_weighed_alike() -> None:
    """Of GRPO's mean over tokens; Dr. GRPO's constant length leaves the mean over groups."""
    batch = batch_of()
    for method in (Grpo(), DrGrpo(max_response_tokens=6)):
        leaf = batch.log_probs.clone().requires_grad_()
        sums, shares = [], []
        for group in batch.group_ids[batch.row_mask].unique():
            rows = ((batch.group_ids == group) & batch.row_mask).nonzero().squeeze(1)
            one = batch.take(rows)
            n = batch_constants(one.labels, one.group_ids, method, response_mask=one.response_mask).shares.sum()
            sums.append(method_loss(leaf[rows], *one.inputs[1:], method)[0] * n / len(rows))
            shares.append(n / len(rows))
        wanted = torch.stack(sums).sum() / torch.stack(shares).sum()
        own = batch.log_probs.clone().requires_grad_()
        torch.testing.assert_close(gradient(loss_of(batch, method, own), own), gradient(wanted, leaf))


def test_groups_of_one_size_are_weighed_as_ever() -> None:
    batch = make_batch(2, (4, 4, 4), padding_rows=2)
    plain, equal = batch.constants(Pacs()), equal_constants(batch, Pacs())
    assert torch.equal(equal.weights, batch.row_mask.double())
    assert torch.equal(equal.shares, plain.shares)
    assert plain.weights is None


def test_the_pull_of_a_group_no_longer_grows_with_its_size() -> None:
    """A tenth right of 8 to 32: PACS's balanced weights make sum |A| grow with G, and n/G undoes that."""
    labels = torch.tensor([1.0] + [0.0] * 7 + [1.0] * 4 + [0.0] * 28)
    ids = torch.tensor([0] * 8 + [1] * 32)
    pulls = []
    for equal in (False, True):
        constants = batch_constants(labels, ids, Pacs(), equal_groups=equal)
        columns = score_responses(
            torch.zeros(40), torch.ones(40), labels, ids, Pacs(),
            coefficients=constants.coefficients, weights=constants.weights,
        )  # fmt: skip
        sums = torch.zeros(2).index_add(0, ids, columns["effective_advantage"].abs())
        pulls.append(float(sums[1] / sums[0]))
    assert pulls[0] == pytest.approx(32 / 31 * 7 / 8 * 32 / 8, rel=1e-5)
    assert pulls[1] == pytest.approx(32 / 31 * 7 / 8, rel=1e-5)


def test_a_token_weight_multiplies_the_gradient_of_groups_that_pull_alike() -> None:
    generator = torch.Generator().manual_seed(0)
    group_ids = torch.tensor([0] * 4 + [1] * 7 + [2] * 3)
    labels = torch.tensor([1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0]).double()
    mask = torch.rand(14, 6, generator=generator) > 0.2
    reference, entropy = torch.rand(2, 14, 6, generator=generator).double().unbind()
    log_probs = (reference + 0.1 * torch.randn(14, 6, generator=generator)).requires_grad_()

    def of_method(method: Pacs) -> tuple[torch.Tensor, torch.Tensor | None]:
        constants = batch_constants(
            labels, group_ids, method, response_mask=mask, streams={"entropy": entropy}, equal_groups=True
        )
        denominator = float(constants.shares.sum())
        loss, _ = method_loss(
            log_probs, reference, mask, labels, group_ids, method, constants=constants, denominator=denominator
        )
        return torch.autograd.grad(loss, log_probs)[0], constants.token_weights

    weighed, weights = of_method(Pacs(token_weight={"name": "entropy_top"}))
    plain, none = of_method(Pacs())
    assert none is None
    assert weights is not None
    assert weights.unique().tolist() == [0, 1]
    torch.testing.assert_close(weighed, plain * weights)
