"""PACS on labels between 0 and 1: the gradient by autograd against the balance of so much right and so much wrong."""

import pytest
import torch

from pacs.algorithm import Pacs, score_responses

GROUP = 6


@pytest.mark.parametrize("hard", [False, True])
def test_the_gradient_is_that_of_the_soft_balance(hard: bool) -> None:
    """dL_i/dpsi_i = w- (1-R) sigma - w+ R (1-sigma), w+ = G/(2 sum R), w- = G/(2 sum(1-R)): of 0 and 1 the hard one."""
    generator = torch.Generator().manual_seed(hard)
    labels = torch.rand(2 * GROUP, generator=generator, dtype=torch.float64)
    labels = labels.round() if hard else labels
    log_ratios = torch.randn(2 * GROUP, generator=generator, dtype=torch.float64)
    ids = torch.arange(2).repeat(GROUP)
    method = Pacs(estimator="none", beta=0.7)
    found = score_responses(log_ratios, torch.full((2 * GROUP,), 3), labels, ids, method)["effective_advantage"]
    for row in range(2 * GROUP):
        members = labels[ids == ids[row]]
        up, down = GROUP / (2 * members.sum()), GROUP / (2 * (1 - members).sum())
        sigma, right = torch.sigmoid(0.7 * log_ratios[row]), labels[row]
        error = down * (1 - right) * sigma - up * right * (1 - sigma)
        if hard:  # today's: the weight of its class times sigma - R
            assert error == pytest.approx(float((up if right else down) * (sigma - right)))
        assert float(found[row]) == pytest.approx(-0.7 * float(error), rel=1e-10)
