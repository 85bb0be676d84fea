"""Effective ranks beside their singular values, and ERA's weight beside a loop over responses."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch

from pacs.algorithm import Method, Pacs, batch_constants, method_loss
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.carried import rank_stride, remembered
from pacs.algorithm.disco import Disco
from pacs.algorithm.effective_rank import effective_rank, growth, prefix_ranks
from pacs.algorithm.era import Era
from pacs.algorithm.kit_case import random_case
from pacs.algorithm.method_settings import MetricsConfig
from pacs.algorithm.token_weights import TokenWeightConfig
from tests.algorithm.test_token_weights import Batch, weighted

MEMORY = {"era_rank": 2.0, "era_velocity": 0.4, "era_acceleration": -0.1}


def by_singular_values(states: torch.Tensor) -> float:
    centered = states.double() - states.double().mean(dim=0)
    values = torch.linalg.svdvals(centered).tolist()
    shares = [value / sum(values) for value in values]
    return math.exp(-sum(share * math.log(share) for share in shares if share > 1e-12))


@pytest.mark.parametrize(("tokens", "width"), [(7, 30), (30, 7), (12, 12), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_rank_is_that_of_the_singular_values(tokens: int, width: int, dtype: torch.dtype) -> None:
    states = torch.randn(tokens, width, generator=torch.Generator().manual_seed(0)).to(dtype) + 3
    assert effective_rank(states) == pytest.approx(by_singular_values(states), rel=1e-5)
    ranks = prefix_ranks(states, 3)
    for place in range(tokens):
        ends = (place + 1) % 3 == 0 or place == tokens - 1
        expected = by_singular_values(states[: place + 1]) if ends and place else 0
        assert float(ranks[place]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("tokens", "width"), [(50, 200), (200, 50)])
def test_states_on_a_line_have_rank_one(tokens: int, width: int) -> None:
    random = torch.Generator().manual_seed(0)
    line = torch.randn(tokens, 1, generator=random) * torch.randn(1, width, generator=random)
    # float32 has rounded the products: a line to seven digits, and a rank to about three.
    assert effective_rank(line) == pytest.approx(1, abs=1e-2)
    exact = torch.arange(tokens).double()[:, None] * torch.arange(width).double()
    assert effective_rank(exact + 100) == pytest.approx(1, abs=1e-6)
    assert effective_rank(torch.full((tokens, width), 0.3)) == 1


@pytest.mark.parametrize("directions", [2, 5, 16])
def test_orthogonal_directions_of_equal_length_are_counted(directions: int) -> None:
    """Each there and back, so that the mean is 0."""
    basis = torch.linalg.qr(torch.randn(20, 20, generator=torch.Generator().manual_seed(1), dtype=torch.float64))[0]
    states = torch.cat([basis[:directions], -basis[:directions]])
    assert effective_rank(7 * states) == pytest.approx(directions, rel=1e-6)
    # n orthogonal states without their negatives: the mean takes one direction away.
    assert effective_rank(basis[:directions]) == pytest.approx(directions - 1, rel=1e-6)


@pytest.mark.parametrize("method", [Disco, partial(Pacs, policy_gradient_term=True)])
def test_a_method_of_log_likelihoods_reads_them_for_its_advantages(method: Callable[..., Method]) -> None:
    """Its advantages where policy and reference agree are a function of log pi_old, which `reads` then has."""
    era = method(token_weight=TokenWeightConfig(name="era", era=Era(stride=2)))
    assert set(era.reads) == {"effective_rank", "old_log_probs"}
    case = random_case(0)
    ranks = 3 + torch.rand(case.mask.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    streams = {"effective_rank": ranks, "old_log_probs": case.log_probs}
    streams = {name: values for name, values in streams.items() if name in era.reads}
    given = {"response_mask": case.mask, "streams": streams, "memory": MEMORY}
    weights = batch_constants(case.labels, case.groups, era, case.row_mask(era), **given).token_weights
    assert weights is not None
    # Where policy and reference agree: what `method_loss` has there.
    _, columns = method_loss(
        case.log_probs, case.log_probs, case.mask, case.labels, case.groups, method(), row_mask=case.row_mask(era)
    )
    there = columns["effective_advantage"] != 0
    assert bool((weights[~there] == 1).all())
    assert bool((weights[there][case.mask[there]] != 1).any())
    assert "old_log_probs" not in method(token_weight=TokenWeightConfig(name="position")).reads


def test_few_states_have_no_rank() -> None:
    assert effective_rank(torch.zeros(0, 4)) == 0
    assert effective_rank(torch.ones(1, 4)) == 0
    assert prefix_ranks(torch.zeros(0, 4), 2).shape == (0,)


def naive_growth(m: list[float]) -> tuple[float, float]:
    d = [m[j] - sum(m[:j]) / j for j in range(1, len(m))]
    second = [d[j] - d[j - 1] for j in range(1, len(d))]
    return sum(d) / len(d) if d else 0.0, sum(second) / len(second) if second else 0.0


def test_growth_is_that_of_the_ranks_along_a_response() -> None:
    """Places are those of the mask, whose holes hold nothing; the whole response may end between two strides."""
    random = torch.Generator().manual_seed(0)
    mask = torch.rand(40, 17, generator=random) < torch.rand(40, 1, generator=random)
    ranks = torch.rand(40, 17, generator=random).where(mask, torch.nan) + 1
    found = growth(ranks.nan_to_num(9.0), mask, 3)
    for row in range(40):
        places = [t for t in range(17) if mask[row, t]]
        own = [float(ranks[row, t]) for t in places]
        velocity, acceleration = naive_growth(own[2::3])
        assert float(found[0][row]) == pytest.approx(own[-1] if own else 0)
        assert float(found[1][row]) == pytest.approx(velocity, abs=1e-6)
        assert float(found[2][row]) == pytest.approx(acceleration, abs=1e-6)


def naive_weights(batch: Batch, ranks: torch.Tensor, advantage: object, tokens: str, cut: float) -> torch.Tensor:
    expected = torch.ones(11, 9, dtype=torch.float64)
    for i in range(10):
        places = [t for t in range(9) if batch.mask[i, t]]
        if not places:
            continue
        own = [float(ranks[i, t]) for t in places]
        measured = (own[-1], *naive_growth(own[1::2]))
        relative = [min(5, max(-5, (x - mu) / abs(mu))) for x, mu in zip(measured, MEMORY.values(), strict=True)]
        t = 1 / (1 + math.exp(-2 * relative[2]))
        phi = t * math.tanh(relative[0]) + (1 - t) * math.tanh(relative[1])
        given = advantage(i)  # type: ignore[operator]
        shaped = given + min(max(phi, 0), abs(given) / cut)
        for place in places if tokens == "all" else places[-1:]:
            expected[i, place] = shaped / given if given else 1
    return expected


@pytest.mark.parametrize("method", [Pacs, Grpo])
@pytest.mark.parametrize(("tokens", "cut"), [("all", 2.0), ("last", 1.0)])
def test_the_weight_is_that_of_the_advantage_with_its_bonus(method: type[Method], tokens: str, cut: float) -> None:
    signs = set()
    for seed in range(3):
        batch, ranks = Batch(seed), 1 + 3 * torch.rand(11, 9, generator=torch.Generator().manual_seed(seed))
        ranks = ranks.double()
        chosen = weighted(method, {"name": "era", "era": {"stride": 2, "tokens": tokens, "cut": cut}})
        given = {"response_mask": batch.mask, "streams": {"effective_rank": ranks.where(batch.mask, torch.nan)}}
        rows = (batch.labels, batch.groups, chosen, batch.row_mask)
        found = batch_constants(*rows, **given, memory=MEMORY).token_weights
        advantage = batch.pacs_advantage if method is Pacs else batch.grpo_advantage
        torch.testing.assert_close(found, naive_weights(batch, ranks, advantage, tokens, cut), rtol=1e-6, atol=1e-6)
        signs |= set((found[batch.mask] - 1).sign().tolist())
        # In a first step there is nothing to compare with.
        assert torch.equal(batch_constants(*rows, **given).token_weights, torch.ones(11, 9, dtype=torch.float64))
    assert signs == {-1.0, 0.0, 1.0}  # more of what is right, less against what is wrong


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("settings", [{}, {"weight_scope": "batch"}, {"objective": "log_pass_rate"}])
def test_a_response_without_an_advantage_has_no_bonus(settings: dict, label: int, dtype: torch.dtype) -> None:
    """In a group of one class rounding may leave something of PACS's, whose sign would decide half of the weight."""
    for size in range(2, 13):
        labels = torch.tensor([label] * size + [1] + [0] * (size - 1), dtype=dtype)
        ids, mask = torch.arange(2).repeat_interleave(size), torch.ones(2 * size, 4)
        method = weighted(Pacs, {"name": "era", "era": {"stride": 2}}).model_copy(update=settings)
        found = batch_constants(
            labels, ids, method, response_mask=mask, streams={"effective_rank": 3 * mask}, memory=MEMORY
        ).token_weights
        assert found[:size].unique().tolist() == [1]
        assert 1 not in found[size:].unique().tolist()


def test_the_update_is_that_of_the_advantages_with_their_bonus() -> None:
    """GRPO whose credit is A' itself, as the paper has it, also where ratios are clipped."""
    case, ranks = random_case(0), 1 + 3 * torch.rand(19, 5, dtype=torch.float64, generator=torch.Generator())
    weight = {"name": "era", "era": {"stride": 2}}
    method = weighted(Grpo, weight)
    given = {"response_mask": case.mask, "streams": {"effective_rank": ranks}, "memory": MEMORY}
    constants = batch_constants(case.labels, case.groups, method, case.row_mask(method), **given)
    shaped = constants.credit[:, None] * constants.token_weights

    class Shaped(Grpo):
        def credit(self, batch: object) -> torch.Tensor:
            return shaped

    gradients = []
    for chosen, made in ((method, constants), (Shaped(), None)):
        leaf = case.log_probs.clone().requires_grad_()
        made = made or batch_constants(case.labels, case.groups, chosen, case.row_mask(chosen), response_mask=case.mask)
        loss, _ = method_loss(
            leaf, case.ref_log_probs, case.mask, case.labels, case.groups, chosen,
            row_mask=case.row_mask(chosen), constants=made,
        )  # fmt: skip
        gradients.append(torch.autograd.grad(loss, leaf)[0])
    torch.testing.assert_close(*gradients)
    assert len(constants.token_weights.unique()) > 3


def test_baselines_are_exponential_means_that_begin_with_the_first_step() -> None:
    batch = Batch(0)
    method = weighted(Grpo, {"name": "era", "era": {"stride": 2, "ema": 0.25}})
    memory: dict[str, float] = {}
    expected: list[float] = []
    for step in range(3):
        ranks = 1 + torch.rand(11, 9, generator=torch.Generator().manual_seed(step))
        memory = remembered(method, batch.mask, batch.row_mask, {"effective_rank": ranks}, memory)
        there = (batch.mask & batch.row_mask[:, None]).any(1)
        means = [float(x[there].mean()) for x in growth(ranks, batch.mask & batch.row_mask[:, None], 2)]
        old = expected or means
        expected = [0.25 * new + 0.75 * before for new, before in zip(means, old, strict=True)]
        assert list(memory.values()) == pytest.approx(expected)
    none = torch.zeros_like(batch.mask)
    assert remembered(method, none, batch.row_mask, {"effective_rank": ranks}, memory) == memory
    assert remembered(Grpo(), batch.mask, batch.row_mask, {}, {}) == {}


def test_what_is_measured_for_whom() -> None:
    assert rank_stride(Pacs()) is None
    assert rank_stride(weighted(Pacs, {"name": "era", "era": {"stride": 7}})) == 7
    assert rank_stride(Pacs(metrics=MetricsConfig(effective_rank_every=5))) == Era().stride == 40


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stride": 1}, "stride=1 must be greater than or equal to 2: a whole number of tokens"),
        ({"ema": 0}, "ema=0 must be greater than 0: a share above 0"),
        ({"cut": 0.5}, "cut=0.5 must be greater than or equal to 1: a number of at least 1"),
        ({"tokens": "first"}, "tokens=first is not known: choose one of all, last"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pacs.from_mapping({"token_weight": {"name": "era", "era": settings}})
