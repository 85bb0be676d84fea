"""Methods whose effective advantages are those of another's settings, up to a factor, and how nearly."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from pacs.algorithm import Method, Pacs, score_responses
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl
from pacs.algorithm.real import Real, RealBce
from recipes.objectives.climbed import TAU


class Equality(NamedTuple):
    """Two methods that have the same effective advantages, up to a factor.

    Attributes:
        text: which, and where.
        left: (G,) advantages of labels, log-ratios and lengths.
        right: the same of the other.
    """

    text: str
    left: Callable[..., torch.Tensor]
    right: Callable[..., torch.Tensor]
    spread: float


def off_policy(method: Method) -> Callable[..., torch.Tensor]:
    """(G,) effective advantages of a group's labels, log-ratios and lengths."""

    def advantages(labels: torch.Tensor, log_ratios: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        ids, likelihoods = torch.zeros(len(labels), dtype=torch.int64), -1.0 * lengths.double()
        columns = score_responses(
            log_ratios, lengths, labels, ids, method, log_likelihoods=likelihoods, token_sums=lengths.double()
        )
        return columns["effective_advantage"]

    return advantages


def _times(
    factor: Callable[[torch.Tensor], Any], advantages: Callable[..., torch.Tensor]
) -> Callable[..., torch.Tensor]:
    return lambda labels, *others: factor(labels) * advantages(labels, *others)


def _squared_scores(labels: torch.Tensor, log_ratios: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Of PACS with a squared loss and centred labels, by autograd: (1/(2 (G-1))) sum (psi - (R - q))^2."""
    leaf = log_ratios.clone().requires_grad_()
    rewards = Gvpo().beta * leaf
    residuals = (rewards - rewards.mean()) - (labels - labels.mean())
    loss = residuals.square().sum() / (2 * (len(labels) - 1))
    return -torch.autograd.grad(loss, leaf)[0]


def _of_class(labels: torch.Tensor) -> torch.Tensor:
    n = labels.sum()
    return torch.where(labels == 1, n, len(labels) - n)


def _cross_entropy(beta: float, by_length: bool) -> Callable[..., torch.Tensor]:
    def advantages(labels: torch.Tensor, log_ratios: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        scale = beta / lengths.double() if by_length else beta
        return scale * (labels - torch.sigmoid(scale * log_ratios))

    return advantages


EQUALITIES = (
    Equality(
        "GVPO is PACS with a squared loss, scores of `dr_grpo` and centred labels, at any log-ratio",
        off_policy(Gvpo()), _squared_scores, 1.0,
    ),
    Equality(
        "REAL's binary cross-entropy (`--config-name real_bce`) is PACS with `estimator=none`, no weights, "
        "`normalize_by_length=true`, mixed groups alone and beta = 1/tau, at any log-ratio",
        off_policy(RealBce()),
        _cross_entropy(1 / TAU, True), 1.0,
    ),
    Equality(
        "PRIME's binary cross-entropy is PACS with `estimator=none`, no weights, beta 0.05 and no reset, at any "
        "log-ratio",
        off_policy(Pacs(beta=0.05, estimator="none", objective="pass_rate")), _cross_entropy(0.05, False), 1.0,
    ),
    Equality(
        "DisCO is PACS (`normalize_by_length=true`) times 4(G-1)/G, where policy and reference agree and responses "
        "are as likely a token",
        off_policy(Disco()),
        _times(lambda labels: 4 * (len(labels) - 1) / len(labels), off_policy(Pacs(normalize_by_length=True))), 0.0,
    ),
    Equality(
        "MaxRL is PACS with `objective=log_pass_rate` times (G-1)/G, where policy and reference agree",
        off_policy(MaxRl()),
        _times(lambda labels: (len(labels) - 1) / len(labels), off_policy(Pacs(objective="log_pass_rate"))), 0.0,
    ),
    Equality(
        "PACS with `estimator=dr_grpo` and no weights is GVPO with a quarter of its beta, times 4(G-1), where policy "
        "and reference agree",
        off_policy(Pacs(beta=0.4, estimator="dr_grpo", objective="pass_rate")),
        _times(lambda labels: 4 * (len(labels) - 1), off_policy(Gvpo(beta=0.1))), 0.0,
    ),
    Equality(
        "NFT is PACS with `estimator=dr_grpo` and no weights, where policy and reference agree",
        off_policy(Nft(ratio="sequence")), off_policy(Pacs(estimator="dr_grpo", objective="pass_rate")), 0.0,
    ),
    Equality(
        "REAL is PACS with `estimator=none` and `normalize_by_length=true` times 8 n_c/(n_c + 1), n_c the responses "
        "of the same class, where policy and reference agree: class balance with one response more",
        off_policy(Real()),
        _times(
            lambda labels: 8 * _of_class(labels) / (_of_class(labels) + 1),
            off_policy(Pacs(estimator="none", normalize_by_length=True)),
        ), 0.0,
    ),
)  # fmt: skip


def residual(equality: Equality, groups: int = 400) -> float:
    """The largest relative difference over random mixed groups of 8."""
    generator, worst = torch.Generator().manual_seed(0), 0.0
    for _ in range(groups):
        labels = torch.zeros(8, dtype=torch.float64)
        labels[: int(torch.randint(1, 8, (1,), generator=generator))] = 1
        log_ratios = equality.spread * torch.randn(8, generator=generator, dtype=torch.float64)
        lengths = torch.randint(1, 100, (8,), generator=generator)
        left, right = (side(labels, log_ratios, lengths) for side in (equality.left, equality.right))
        worst = max(worst, float((left - right).abs().max() / right.abs().max()))
    return worst
