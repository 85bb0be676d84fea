"""Labels between 0 and 1: a verifier that is not sure, or a share of what is right."""

import pytest
import torch

from pacs.algorithm import Method, Pacs, method_loss, score_responses
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, ReinforceRej
from pacs.algorithm.real import Real

GENERATOR = torch.Generator().manual_seed(4)
#: Two groups of five, an uneven one, one that is all wrong, and one that is all right.
SIZES = torch.tensor([5, 5, 3, 4, 4])
IDS = torch.arange(5).repeat_interleave(SIZES)
LABELS = torch.rand(21, generator=GENERATOR, dtype=torch.float64)
LABELS[13:17], LABELS[17:] = 0, 1
LOG_RATIOS = torch.randn(21, generator=GENERATOR, dtype=torch.float64)


def scored(method: Method) -> dict[str, torch.Tensor]:
    return score_responses(LOG_RATIOS, torch.ones(21), LABELS, IDS, method)


@pytest.mark.parametrize("objective", ["log_odds", "log_pass_rate", "pass_rate"])
def test_the_error_of_a_score(objective: str) -> None:
    """e = w-(1-R) sigma - w+ R (1-sigma), with w+ = G/(2 sum R) and w- = G/(2 sum(1-R)), or both 1/q, or 1."""
    columns = scored(Pacs(objective=objective, estimator="none", beta=0.7))
    sigma = torch.sigmoid(0.7 * LOG_RATIOS)
    for group in range(5):
        own = group == IDS
        size, right = int(own.sum()), float(LABELS[own].sum())
        mixed = 0 < right < size
        up, down = {
            "log_odds": (size / (2 * right), size / (2 * (size - right))) if mixed else (1.0, 1.0),
            "log_pass_rate": (size / right, size / right) if right else (1.0, 1.0),
            "pass_rate": (1.0, 1.0),
        }[objective]
        error = down * (1 - LABELS[own]) * sigma[own] - up * LABELS[own] * (1 - sigma[own])
        torch.testing.assert_close(columns["effective_advantage"][own], -0.7 * error, rtol=1e-12, atol=1e-14)
        loss = -up * LABELS[own] * sigma[own].log() - down * (1 - LABELS[own]) * (1 - sigma[own]).log()
        torch.testing.assert_close(columns["loss"][own], loss, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "method", [Pacs(), Pacs(objective="log_pass_rate"), Gvpo(), MaxRl()], ids=lambda m: type(m).__name__
)
def test_the_gradient_is_that_of_finite_differences(method: Method) -> None:
    reference, mask = torch.zeros(21, 1, dtype=torch.float64), torch.ones(21, 1)

    def loss(values: torch.Tensor) -> torch.Tensor:
        return method_loss(values[:, None], reference, mask, LABELS, IDS, method)[0]

    small = 0.05 * LOG_RATIOS  # within every clip
    leaf = small.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(leaf), leaf)
    for row in range(21):
        step = torch.zeros(21, dtype=torch.float64)
        step[row] = 1e-6
        assert float(gradient[row]) == pytest.approx(float(loss(small + step) - loss(small - step)) / 2e-6, abs=1e-8)


@pytest.mark.parametrize(
    "method",
    [Pacs(weight_scope="batch"), Real(), Disco(), Nft(), ReinforceRej(), PassAtK()],
    ids=lambda m: type(m).__name__,
)
def test_those_that_need_classes_refuse_them(method: Method) -> None:
    with pytest.raises(ValueError, match=r"labels must be 0 \(wrong\) or 1 \(correct\), but 13 of 21 rows"):
        score_responses(
            LOG_RATIOS, torch.ones(21), LABELS, IDS, method, log_likelihoods=LOG_RATIOS, token_sums=LOG_RATIOS
        )
