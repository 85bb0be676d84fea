"""Labels between 0 and 1: a verifier that is not sure, or a share of what is right; and rewards of any size."""

import statistics

import pytest
import torch

from pacs.algorithm import Method, Pacs, batch_constants, method_loss, score_responses
from pacs.algorithm.aggregated import Dapo, DrGrpo, Grpo, Rloo
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
            "log_pass_rate": (size / max(right, 1), size / max(right, 1)) if right else (1.0, 1.0),
            "pass_rate": (1.0, 1.0),
        }[objective]
        error = down * (1 - LABELS[own]) * sigma[own] - up * LABELS[own] * (1 - sigma[own])
        torch.testing.assert_close(columns["effective_advantage"][own], -0.7 * error, rtol=1e-12, atol=1e-14)
        loss = -up * LABELS[own] * sigma[own].log() - down * (1 - LABELS[own]) * (1 - sigma[own]).log()
        torch.testing.assert_close(columns["loss"][own], loss, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("right", [1e-12, 1e-3, 0.9])
@pytest.mark.parametrize("scope", ["group", "batch"])
def test_a_group_that_is_hardly_right_pulls_no_more_than_one_with_a_right_response(right: float, scope: str) -> None:
    """1/q would be without a bound, and what evens out the group's scores, at any distance from the reference, too."""
    ids, labels = torch.zeros(8, dtype=torch.int64), torch.tensor([right] + [0.0] * 7)
    method = Pacs(objective="log_pass_rate", weight_scope=scope)
    pulls = []
    for given in (labels, torch.tensor([1.0] + [0.0] * 7)):
        assert batch_constants(given, ids, method).coefficients.tolist() == [8] * 8
        columns = score_responses(LOG_RATIOS[:8], torch.ones(8), given, ids, method)
        pulls.append(float(columns["effective_advantage"].abs().sum()))
    assert pulls[0] < 2 * pulls[1]


#: Of sums of parts: a punishment leaves some below 0, a bonus others above 1.
REWARDS = 3 * LABELS - 1
OF_NUMBERS = [Gvpo(), Grpo(), Dapo(), Rloo(), DrGrpo(max_response_tokens=1)]


@pytest.mark.parametrize(
    ("method", "labels"),
    [(method, LABELS) for method in (Pacs(), Pacs(objective="log_pass_rate"), Gvpo(), MaxRl())]
    + [(method, REWARDS) for method in OF_NUMBERS],
    ids=lambda value: type(value).__name__,
)
def test_the_gradient_is_that_of_finite_differences(method: Method, labels: torch.Tensor) -> None:
    reference, mask = torch.zeros(21, 1, dtype=torch.float64), torch.ones(21, 1)

    def loss(values: torch.Tensor) -> torch.Tensor:
        return method_loss(values[:, None], reference, mask, labels, IDS, method)[0]

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


@pytest.mark.parametrize("method", OF_NUMBERS, ids=lambda m: type(m).__name__)
def test_rewards_of_any_size_are_compared_with_the_group(method: Method) -> None:
    """The effective advantage where policy and reference agree, a group at a time in Python."""
    zeros = torch.zeros(21, dtype=torch.float64)
    sums = zeros if method.tokenwise else None
    columns = score_responses(zeros, torch.ones(21), REWARDS, IDS, method, token_sums=sums)
    found = columns["effective_advantage"] if sums is None else columns["token_advantage"]
    if sums is not None:
        found = found * batch_constants(REWARDS, IDS, method, lengths=torch.ones(21)).credit
    for group in range(5):
        rewards = REWARDS[group == IDS].tolist()
        size, mean = len(rewards), statistics.fmean(rewards)
        scale = {
            Gvpo: 0.1 / (size - 1),
            Rloo: size / (size - 1),
            DrGrpo: 1.0,
        }.get(type(method)) or 1 / (statistics.stdev(rewards) + 1e-6)
        wanted = torch.tensor([scale * (reward - mean) for reward in rewards], dtype=torch.float64)
        torch.testing.assert_close(found[group == IDS], wanted, rtol=1e-12, atol=1e-14)


def test_rewards_of_any_size_are_for_few() -> None:
    others = int(((REWARDS < 0) | (REWARDS > 1)).sum())
    for method in (Pacs(), MaxRl()):
        with pytest.raises(ValueError, match=rf"labels must be in \[0, 1\], but {others} of 21 rows have others"):
            score_responses(LOG_RATIOS, torch.ones(21), REWARDS, IDS, method, token_sums=LOG_RATIOS)
    not_finite = REWARDS.where(torch.arange(21) != 3, torch.nan)
    for method in OF_NUMBERS:
        with pytest.raises(ValueError, match=r"labels must be finite, but 1 of 21 rows have others \(nan\)"):
            score_responses(LOG_RATIOS, torch.ones(21), not_finite, IDS, method, token_sums=LOG_RATIOS)
