"""c(p) of each method: on-policy, where policy and reference agree, c(p) grad p is the expected update of a prompt."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from pacs.algorithm import Method, Pacs, method_loss
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real

TAU = Real().tau

Advantages = Callable[[torch.Tensor], torch.Tensor]


class Climbed(NamedTuple):
    """What is climbed on-policy.

    Attributes:
        names: of the methods.
        advantages: (G,) effective advantages of (G,) labels of 0 and 1.
        formula: c(p).
        closed: c(p) of p and G.
    """

    names: str
    advantages: Advantages
    formula: str
    closed: Callable[[float, int], float]


def on_policy(method: Method) -> Advantages:
    """The effective advantages of a method where policy and reference agree, in responses of one token each."""

    def advantages(labels: torch.Tensor) -> torch.Tensor:
        size = len(labels)
        log_probs = torch.full((size, 1), -1.0, dtype=torch.float64, requires_grad=True)
        ids, mask = torch.zeros(size, dtype=torch.int64), torch.ones(size, 1)
        loss, _ = method_loss(log_probs, log_probs.detach(), mask, labels, ids, method, denominator=size)
        return -size * torch.autograd.grad(loss, log_probs)[0][:, 0]

    return advantages


def grpo(labels: torch.Tensor) -> torch.Tensor:
    """verl's estimator of that name: labels less their mean, by their unbiased standard deviation."""
    centered = labels - labels.mean()
    std = centered.square().sum().div(len(labels) - 1).sqrt()
    return centered / (std + 1e-6)


def _grpo(p: float, size: int) -> float:
    mean_root = sum(_binomial(size, n, p) * math.sqrt(n * (size - n)) for n in range(size + 1))
    return math.sqrt((size - 1) / size) * mean_root / (size * p * (1 - p))


def _balanced(p: float, size: int) -> float:
    return size * (1 - p**size - (1 - p) ** size) / (4 * (size - 1) * p * (1 - p))


def _real(p: float, size: int) -> float:
    def half(q: float) -> float:
        return (1 - (1 - (1 - q) ** (size + 1)) / ((size + 1) * q) - q**size * size / (size + 1)) / q

    return (half(p) + half(1 - p)) / TAU


METHODS = (
    Climbed(
        "PACS, balanced in the group (the paper)",
        on_policy(Pacs()),
        "G (1 - p^G - (1-p)^G) / (4 (G-1) p (1-p))",
        _balanced,
    ),
    Climbed(
        "PACS, weights 1/q (log_pass_rate)",
        on_policy(Pacs(objective="log_pass_rate")),
        "G (1 - (1-p)^(G-1)) / ((G-1) p)",
        lambda p, size: size * (1 - (1 - p) ** (size - 1)) / ((size - 1) * p),
    ),
    Climbed("PACS without weights", on_policy(Pacs(objective="pass_rate")), "1", lambda p, size: 1.0),
    Climbed("GVPO", on_policy(Gvpo()), "beta / G", lambda p, size: Gvpo().beta / size),
    Climbed("NFT", on_policy(Nft()), "(G-1)/G", lambda p, size: (size - 1) / size),
    Climbed("RAFT++", on_policy(Raft()), "1", lambda p, size: 1.0),
    Climbed("GRPO", grpo, "sqrt((G-1)/G) E sqrt(n (G-n)) / (G p (1-p))", _grpo),
    Climbed("MaxRL", on_policy(MaxRl()), "(1 - (1-p)^(G-1)) / p", lambda p, size: (1 - (1 - p) ** (size - 1)) / p),
    Climbed(
        "REAL",
        on_policy(Real()),
        "(f(p) + f(1-p)) / tau, f(p) = (1 - (1-(1-p)^(G+1))/((G+1)p) - p^G G/(G+1)) / p",
        _real,
    ),
    Climbed(
        "Reinforce-Rej; REAL's cross-entropy",
        on_policy(ReinforceRej()),
        "2 - p^(G-1) - (1-p)^(G-1)",
        lambda p, size: 2 - p ** (size - 1) - (1 - p) ** (size - 1),
    ),
    Climbed(
        "DisCO",
        on_policy(Disco()),
        "(1 - p^G - (1-p)^G) / (p (1-p))",
        lambda p, size: (1 - p**size - (1 - p) ** size) / (p * (1 - p)),
    ),
    Climbed(
        "pass@k training (grpo_passk)",
        on_policy(PassAtK()),
        "sqrt(G) (1-p)^(G-1)",
        lambda p, size: math.sqrt(size) * (1 - p) ** (size - 1),
    ),
)


def _binomial(size: int, n: int, p: float) -> float:
    return math.comb(size, n) * p**n * (1 - p) ** (size - n)


def enumerated(climbed: Climbed, p: float, size: int) -> float:
    """c(p) as an expectation over the numbers of right responses: (1/G) E sum_i A_i (R_i/p - (1-R_i)/(1-p))."""
    total = 0.0
    for n in range(size + 1):
        labels = (torch.arange(size) < n).double()
        scores = labels / p - (1 - labels) / (1 - p)
        total += _binomial(size, n, p) * float((climbed.advantages(labels) * scores).sum()) / size
    return total
