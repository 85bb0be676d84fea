"""DelTA beside a loop over tokens, as the authors' code has it, and what it does where the sides are far apart."""

import math
from typing import Any

import pytest
import torch

from pacs.algorithm import Method, Pacs, batch_constants
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.delta import Delta
from tests.algorithm.test_token_weights import Batch, weighted


def squared(one: list[float], other: list[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def naive(
    batch: Batch, states: torch.Tensor, advantage: Any, rounds: int, least: float, most: float
) -> dict[tuple[int, int], float]:
    """Of each token that counts, one after the other."""
    v, given = {}, {}
    for i, t in batch.tokens():
        p = math.exp(float(batch.streams()["old_log_probs"][i, t]))
        v[i, t] = [(1 - p) * value for value in states[i, t].tolist()]
        given[i, t] = advantage(i)
    sides = {side: [token for token in v if side * given[token] > 0] for side in (1, -1)}

    def means(weights: dict[tuple[int, int], float]) -> dict[int, list[float]]:
        found = {}
        for side, tokens in sides.items():
            total = sum(weights[token] for token in tokens)
            found[side] = [sum(weights[token] * v[token][k] for token in tokens) / total for k in range(6)]
        return found

    def margins(mu: dict[int, list[float]]) -> dict[tuple[int, int], float]:
        return {
            token: squared(v[token], mu[-side]) - squared(v[token], mu[side])
            for side, tokens in sides.items()
            for token in tokens
        }

    def spreads(of: dict[tuple[int, int], float]) -> dict[int, float]:
        found = {}
        for side, tokens in sides.items():
            mean = sum(of[token] for token in tokens) / len(tokens)
            found[side] = math.sqrt(sum((of[token] - mean) ** 2 for token in tokens) / len(tokens))
        return found

    def soft(of: dict[tuple[int, int], float], gamma: dict[int, float]) -> dict[tuple[int, int], float]:
        return {token: 1 / (1 + math.exp(-value / gamma[1 if given[token] > 0 else -1])) for token, value in of.items()}

    known = margins(means({token: abs(value) for token, value in given.items()}))
    gamma = spreads(known)
    for _ in range(rounds):
        shares = soft(known, gamma)
        gamma = spreads(known)
        known = margins(means({token: abs(given[token]) * share for token, share in shares.items()}))
    shares = soft(known, gamma)
    weights = {token: least + (most - least) * shares.get(token, 0.0) for token in v}
    return {token: value * len(weights) / sum(weights.values()) for token, value in weights.items()}


@pytest.mark.parametrize("method", [Pacs, Grpo])
@pytest.mark.parametrize(("rounds", "least", "most"), [(1, 0.8, 1.2), (0, 0.8, 1.2), (3, 0.1, 2.0)])
def test_the_weight_is_that_of_the_authors_code(method: type[Method], rounds: int, least: float, most: float) -> None:
    batch = Batch(0)
    states = torch.randn(11, 9, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    settings = {"rounds": rounds, "least": least, "most": most}
    chosen = weighted(method, {"name": "delta", "delta": settings})
    streams = batch.streams() | {"hidden_states": states.where(batch.mask[..., None], torch.nan)}
    given = {"response_mask": batch.mask, "streams": streams}
    found = batch_constants(batch.labels, batch.groups, chosen, batch.row_mask, **given).token_weights
    expected = torch.ones(11, 9, dtype=torch.float64)
    advantage = batch.pacs_advantage if method is Pacs else batch.grpo_advantage
    for (i, t), value in naive(batch, states, advantage, rounds, least, most).items():
        expected[i, t] = value
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert len(found[batch.mask].unique()) > 5


def test_what_both_sides_share_is_worth_less() -> None:
    """Four tokens a response: three of one direction, whoever wrote them, and one of the response's own side."""
    shared, own = torch.tensor([1.0, 0.0, 0.0]), {1: torch.tensor([0.0, 1.0, 0.0]), -1: torch.tensor([0.0, 0.0, 1.0])}
    signs = [1, 1, -1, -1]
    states = torch.stack([torch.stack([shared, shared, shared, own[sign]]) for sign in signs])
    streams = {"old_log_probs": torch.full((4, 4), -1.0), "hidden_states": states}
    advantages = torch.tensor(signs).float()[:, None].expand(4, 4)
    found = Delta().weights(torch.ones(4, 4, dtype=torch.bool), streams, lambda: advantages)
    assert (found[:, :3] < 1).all()
    assert (found[:, 3] > 1).all()
    assert found.mean().item() == pytest.approx(1)


def test_without_an_advantage_or_a_token_nothing_is_told_apart() -> None:
    mask, states = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 3, 4)
    streams = {"old_log_probs": torch.full((2, 3), -1.0), "hidden_states": states}
    none = Delta().weights(mask, streams, lambda: torch.zeros(2, 3))
    torch.testing.assert_close(none, torch.ones(2, 3).double())
    one_sided = Delta().weights(mask, streams, lambda: torch.ones(2, 3))
    assert one_sided.isfinite().all()
    assert Delta().weights(torch.zeros_like(mask), streams, lambda: torch.ones(2, 3)).isfinite().all()
