"""The loss as verl calls it, on rows whose responses have holes, against the naive one, a row and a token at a time."""

import math

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Method, Pacs, Rows
from pacs.integration import exchange
from tests.algorithm.naive import Batch, naive_loss
from tests.integration.worker.poison_case import ROWS, batch_of, first_token, loss_of
from tests.integration.worker.worker_case import rollout_log_probs

STRATEGIES = ["grouped", "cached"]
CONFIGS = {
    "default": Pacs(),
    "length": Pacs(normalize_by_length=True, beta=3.0),
    "policy gradient": Pacs(policy_gradient_term=True, objective="pass_rate"),
    "grpo, dropped": Pacs(estimator="grpo", single_class_groups="drop"),
}
DROPPED = [i for i, row in enumerate(ROWS) if row.uid == "0"]
NO_TOKEN = [i for i, row in enumerate(ROWS) if row.uid and not any(row.mask)]


def log_prob(row: int) -> float:
    return -1.5 - 0.1 * row


def naive_gradient(config: Pacs) -> torch.Tensor:
    """By autograd through the naive loss: (B, T), of the tokens of the responses."""
    masks = [torch.tensor(row.mask, dtype=torch.bool) for row in ROWS]
    rows = [torch.full((len(mask),), log_prob(i), dtype=torch.float64) for i, mask in enumerate(masks)]
    leaf = pad_sequence(rows, batch_first=True).requires_grad_()
    batch = Batch(
        log_probs=leaf,
        ref_log_probs=torch.full_like(leaf, -2.0),
        response_mask=pad_sequence(masks, batch_first=True),
        labels=torch.tensor([int(row.label) for row in ROWS]),
        group_ids=torch.tensor([-1 if row.uid is None else int(row.uid) for row in ROWS]),
        row_mask=torch.tensor([row.uid is not None for row in ROWS]),
    )
    return torch.autograd.grad(naive_loss(batch, config), leaf)[0]


def of_responses(gradient: torch.Tensor) -> torch.Tensor:
    """(B, T) of the flat gradient of all sequences; verl's log-probability at a place is that of the token after it."""
    parts = gradient.split([len(row.prompt + row.response) for row in ROWS])
    places = [part[len(row.prompt) - 1 : -1] for part, row in zip(parts, ROWS, strict=True)]
    inside = sum(place.abs().sum() for place in places)
    torch.testing.assert_close(inside, gradient.abs().sum())  # nothing at the prompts
    return pad_sequence(places, batch_first=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_gradient_is_the_naive_one_at_the_policys_tokens_and_0_in_the_holes(config: Pacs, strategy: str) -> None:
    """Between them policy, reference and vLLM say NaN; a row without a token of its own counts, and has none."""
    assert len(NO_TOKEN) == 1
    loss, gradient, _ = loss_of(batch_of(strategy, {}, config), {}, config)
    assert loss.isfinite()
    expected = naive_gradient(config)
    torch.testing.assert_close(of_responses(gradient).double(), expected, rtol=1e-4, atol=1e-6)
    assert expected.abs().max() > 1e-2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_columns_are_of_the_policys_tokens(strategy: str) -> None:
    data = batch_of(strategy, {})
    _, _, metrics = loss_of(data, {})
    names, values = metrics[exchange.TABLES]
    table = dict(zip(names, values.tolist(), strict=True))
    for i, row in enumerate(ROWS):
        gaps = [abs(log_prob(i) - float(sampled)) for sampled in rollout_log_probs(row) if not math.isnan(sampled)]
        assert len(gaps) == sum(row.mask)
        expected = {
            "active": float(row.uid is not None),
            "tokens": float(sum(row.mask)),
            "log_ratio": (log_prob(i) + 2) * sum(row.mask),
            "rollout_gap": sum(gaps),
            "rollout_gap_worst": max(gaps, default=0.0),
            "entropy": (i + 1) * sum(row.mask),
            "update": 2.0,
            "row": float(i),
        }
        assert {name: table[name][i] for name in expected} == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["policy", "reference"])
@pytest.mark.parametrize("estimator", ["rloo", "grpo", "none"])
def test_what_is_not_finite_in_a_dropped_group_is_harmless_under_either_strategy(
    estimator: str, where: str, value: float
) -> None:
    """The same gradient as without it, to the bit; only the row's column says that it was there."""
    for strategy in STRATEGIES:
        config = CONFIGS["grpo, dropped"].model_copy(update={"estimator": estimator})
        poison = {DROPPED[0]: value}
        reference, policy = (poison, {}) if where == "reference" else ({}, poison)
        loss, gradient, metrics = loss_of(batch_of(strategy, reference, config), policy, config)
        clean_loss, clean_gradient, _ = loss_of(batch_of(strategy, {}, config), {}, config)
        assert torch.equal(loss, clean_loss)
        assert torch.equal(gradient, clean_gradient)
        assert gradient.abs().max() > 1e-2
        if strategy == "grouped":
            names, values = metrics[exchange.TABLES]
            assert torch.nonzero(values[names.index("log_ratio")].isnan()).flatten().tolist() == DROPPED[:1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_the_average_over_ranks_divides_by_is_multiplied_by_before(strategy: str) -> None:
    alone, of_four = batch_of(strategy, {}), batch_of(strategy, {})
    tu.assign_non_tensor(of_four, dp_size=4)
    torch.testing.assert_close(loss_of(of_four, {})[1], 4 * loss_of(alone, {})[1])


def test_a_torn_group_is_refused() -> None:
    data = batch_of("grouped", {})
    data["pacs_group_sizes"] = data["pacs_group_sizes"] + 1
    with pytest.raises(ValueError, match=r"4 of the 5 responses of group 0 are here"):
        loss_of(data, {})


def test_weights_are_those_of_the_whole_train_batch() -> None:
    """Not of the rows that happen to be here: twice the weights are twice the gradient."""
    heavier = batch_of("grouped", {})
    heavier["pacs_coefficients"] = 2 * heavier["pacs_coefficients"]
    torch.testing.assert_close(loss_of(heavier, {})[1], 2 * loss_of(batch_of("grouped", {}), {})[1])


def test_where_the_reference_is_the_policy_it_is_not_read() -> None:
    """r = 0: sigma(psi) is 1/2 for all, and the loss log 2; the gradient goes through the policy alone."""
    data = batch_of("grouped", dict.fromkeys(range(len(ROWS)), 7.0))
    tu.assign_non_tensor(data, **{"pacs_self_reference": True})
    loss, gradient, _ = loss_of(data, {})
    assert loss.item() == pytest.approx(math.log(2), rel=1e-6)
    assert gradient.abs().max() > 1e-2


def test_first_tokens_are_under_the_mask() -> None:
    """What the tests of poison put there is to be read."""
    assert [row.mask[first_token(row)] for row in ROWS] == [int(any(row.mask)) for row in ROWS]


class Squared(Method):
    """A stranger's: (R - q - margin * (d - mean d))^2 in each group, with a setting of its own and no columns."""

    margin: float = 0.5

    def losses(self, rows: Rows) -> torch.Tensor:
        return (
            rows.coefficients
            * (rows.groups.center(rows.labels) - self.margin * rows.groups.center(rows.log_ratios)) ** 2
        )


def test_a_method_of_somebody_else_has_its_gradient_under_either_strategy() -> None:
    """A_i by hand: 2 margin (c - mean c) of the residuals c; of a group they sum to zero, and so do centred ones."""
    method = Squared(margin=0.3)
    data = batch_of("grouped", {}, method)
    grouped, cached = (loss_of(batch_of(s, {}, method), {}, method) for s in STRATEGIES)
    torch.testing.assert_close(grouped[1], cached[1], rtol=1e-5, atol=1e-7)
    names, values = grouped[2][exchange.TABLES]
    rows = dict(zip(names, values, strict=True))
    assert {"score", "grpo_fallback"}.isdisjoint(names)
    for group in (0, 1):
        members = (data["pacs_group_ids"] == group) & data["pacs_row_mask"]
        labels, ratios = rows["correct"][members], rows["log_ratio"][members]
        residuals = labels - labels.mean() - 0.3 * (ratios - ratios.mean())
        torch.testing.assert_close(rows["loss"][members], residuals**2)
        torch.testing.assert_close(rows["effective_advantage"][members], 2 * 0.3 * residuals, rtol=1e-4, atol=1e-6)
