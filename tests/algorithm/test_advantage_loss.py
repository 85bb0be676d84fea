"""The token-wise half of gradient caching beside a sum written out: both parts are divided by the given N."""

import pytest
import torch

from pacs.algorithm.row_losses import SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE
from pacs.algorithm.surrogate import advantage_loss


@pytest.mark.parametrize("denominator", [None, 7.0, 0.5])
def test_both_parts_are_divided(denominator: float | None) -> None:
    draw = torch.Generator().manual_seed(3)
    log_probs, values = (torch.randn(4, 5, generator=draw, dtype=torch.float64) for _ in range(2))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    whole, by_all, by_tokens = (torch.randn(4, generator=draw, dtype=torch.float64) for _ in range(3))
    active = torch.tensor([True, True, False, True])
    columns = {"effective_advantage": whole, SEQUENCE_ADVANTAGE: by_all, TOKEN_ADVANTAGE: by_tokens}
    columns["active"] = active
    loss = advantage_loss(log_probs, values, mask, columns, denominator=denominator)
    total = sum(
        by_all[i] * log_probs[i, t] + by_tokens[i] * values[i, t]
        for i in range(4)
        for t in range(5)
        if active[i] and mask[i, t]
    )
    assert float(loss) == pytest.approx(-float(total) / (3 if denominator is None else denominator), rel=1e-12)
    plain = advantage_loss(log_probs, None, mask, columns, denominator=denominator)
    total = sum(whole[i] * log_probs[i, t] for i in range(4) for t in range(5) if active[i] and mask[i, t])
    assert float(plain) == pytest.approx(-float(total) / (3 if denominator is None else denominator), rel=1e-12)
