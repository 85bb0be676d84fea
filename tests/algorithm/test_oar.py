"""OAR-G's weight beside a loop over tokens, as the authors' code has it."""

import math

import numpy as np
import pytest
import torch

from pacs.algorithm import Method, Pacs, batch_constants
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.oar import SENSITIVITY, Oar
from tests.algorithm.test_token_weights import Batch, weighted


def naive(values: list[float], quantile: float, boost: float, least: float) -> list[float]:
    """Of a response's tokens before its answer."""
    logs = [math.log1p(value) for value in values]
    spread = max(logs) - min(logs)
    scaled = [(value - min(logs)) / (spread or 1.0) for value in logs]
    threshold = float(np.quantile(scaled, quantile))
    weights = []
    for u in scaled:
        if u < threshold:
            weights.append(max(u / threshold, least))
        else:
            weights.append(1 + boost * (u - threshold) / (1 - threshold + 1e-12))
    return [weight * len(weights) / sum(weights) for weight in weights]


@pytest.mark.parametrize("method", [Pacs, Grpo])
@pytest.mark.parametrize(
    ("answer", "quantile", "boost", "least"),
    [(1, 0.5, 1.0, 0.1), (2, 0.0, 2.0, 0.1), (3, 0.8, 0.0, 0.5), (9, 0.5, 1.0, 0.1)],
)
def test_the_weight_is_that_of_the_authors_code(
    method: type[Method], answer: int, quantile: float, boost: float, least: float
) -> None:
    batch = Batch(0)
    sensitivity = torch.rand(11, 9, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 5
    settings = {"answer": answer, "quantile": quantile, "boost": boost, "least": least}
    chosen = weighted(method, {"name": "oar", "oar": settings})
    streams = batch.streams() | {SENSITIVITY: sensitivity.where(batch.mask, torch.nan)}
    given = {"response_mask": batch.mask, "streams": streams}
    found = batch_constants(batch.labels, batch.groups, chosen, batch.row_mask, **given).token_weights
    expected = torch.ones(11, 9, dtype=torch.float64)
    tokens = batch.tokens()
    for row in range(11):
        places = [t for i, t in tokens if i == row][:-answer]
        if places:
            values = naive([float(sensitivity[row, t]) for t in places], quantile, boost, least)
            for place, value in zip(places, values, strict=True):
                expected[row, place] = value
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert (answer == 9) == (len(found.unique()) == 1)


def test_tokens_that_are_alike_have_one_weight() -> None:
    mask, alike = torch.ones(2, 6, dtype=torch.bool), torch.full((2, 6), 0.3)
    found = Oar(answer=2).weights(mask, {SENSITIVITY: alike}, lambda: torch.ones(2, 6))
    torch.testing.assert_close(found, torch.ones(2, 6).double())
    assert Oar().weights(torch.zeros_like(mask), {SENSITIVITY: alike}, lambda: alike).eq(1).all()
