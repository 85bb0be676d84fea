"""The losses of PACS's neighbours once more, a token at a time in Python, to hold the vectorised ones to."""

import math
from collections.abc import Callable
from typing import Any

import torch

from pacs.algorithm import Method
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real

from .naive import Batch

Group = list[dict[str, Any]]


def groups_of(batch: Batch, leaf: torch.Tensor) -> list[Group]:
    """Each group's responses: their tokens' log-ratios and log-likelihoods, scalars with the gradient, and labels."""
    found: dict[int, Group] = {}
    for i in range(len(batch.labels)):
        if not batch.row_mask[i]:
            continue
        tokens = [t for t in range(leaf.shape[1]) if batch.response_mask[i, t]]
        found.setdefault(int(batch.group_ids[i]), []).append(
            {
                "d": [leaf[i, t] - batch.ref_log_probs[i, t] for t in tokens],
                "lp": [leaf[i, t] for t in tokens],
                "R": int(batch.labels[i]),
            }
        )
    return list(found.values())


def total_of(values: list[torch.Tensor]) -> torch.Tensor:
    """Their sum, which is 0 of a response without a token."""
    return sum(values, start=torch.zeros((), dtype=torch.float64))


def mixed(group: Group) -> bool:
    return 0 < sum(row["R"] for row in group) < len(group)


def gvpo(groups: list[Group], method: Gvpo) -> torch.Tensor:
    """Their code: the mean is detached."""
    total, count = torch.zeros((), dtype=torch.float64), 0
    for group in groups:
        d = [total_of(row["d"]) for row in group]
        mean = float(sum(d)) / len(group)
        q = sum(row["R"] for row in group) / len(group)
        for own, row in zip(d, group, strict=True):
            total = total + (method.beta * (own - mean) - (row["R"] - q)) ** 2 / (2 * (len(group) - 1))
            count += 1
    return total / count


def real(groups: list[Group], method: Real) -> torch.Tensor:
    total, count = torch.zeros((), dtype=torch.float64), 0
    for group in filter(mixed, groups):
        right, wrong = 1.0, 1.0
        for row in group:
            score = total_of(row["d"]) / max(1, len(row["d"]))
            if row["R"]:
                right = right + torch.exp(-score / method.tau)
            else:
                wrong = wrong + torch.exp(score / method.tau)
        total = total + len(group) * (torch.log(right) + torch.log(wrong))
        count += len(group)
    return total / count


def disco(groups: list[Group], method: Disco) -> torch.Tensor:
    tau = method.tau or {"log_likelihood": 10.0, "ratio": 1.0}[method.score]
    total, count = torch.zeros((), dtype=torch.float64), sum(map(len, groups))
    # A response without a token is no one's neighbour; the mean is over all rows.
    for group in filter(mixed, [[row for row in group if row["d"]] for group in groups]):
        scores: dict[int, list[torch.Tensor]] = {0: [], 1: []}
        for row in group:
            values = row["lp"] if method.score == "log_likelihood" else [torch.exp(d) for d in row["d"]]
            scores[row["R"]].append(total_of(values) / len(values))
        of_wrong = sum(torch.exp(score / tau) for score in scores[0]) / len(scores[0])
        total = total + len(group) * (tau * torch.log(of_wrong) - sum(scores[1]) / len(scores[1]))
    ratios = [d for group in groups for row in group for d in row["d"]]
    beyond = -sum(ratios) / len(ratios) - method.kl_bound
    return total / count + method.kl_weight / 2 * beyond.clamp(min=0) ** 2


def nft(groups: list[Group], method: Nft) -> torch.Tensor:
    total, count = torch.zeros((), dtype=torch.float64), 0
    for group in filter(mixed, groups):
        q = min(max(sum(row["R"] for row in group) / len(group), 0.02), 0.98)
        for row in group:
            ratios = [total_of(row["d"])] if method.ratio == "sequence" else row["d"]
            for d in ratios:
                left = (1 - q * torch.exp(d.clamp(max=10))) / (1 - q)
                # Straight through where it is below 1.
                value = left if float(left) > 1 else left - float(left) + 1
                total = total - (1 - q) * (d.clamp(max=10) if row["R"] else torch.log(value))
            count += 1
    return total / count


def clipped(advantage: Callable[[int, int, int], float], groups: list[Group], method: Any) -> torch.Tensor:
    """verl's vanilla loss, a token at a time; where no advantage is negative, `clip_low` and `clip_dual` are verl's."""
    low, dual = getattr(method, "clip_low", 0.2), getattr(method, "clip_dual", 3.0)
    total, count = torch.zeros((), dtype=torch.float64), 0
    for group in groups:
        n, size = sum(row["R"] for row in group), len(group)
        if isinstance(method, ReinforceRej) and not mixed(group):
            continue
        for row in group:
            a = advantage(row["R"], n, size)
            for d in row["d"]:
                rho = torch.exp(d)
                loss = torch.maximum(-a * rho, -a * rho.clamp(1 - low, 1 + method.clip_high))
                if a < 0 and dual is not None:
                    loss = torch.minimum(loss, torch.tensor(-a * dual, dtype=torch.float64))
                total = total + loss
            count += 1
    return total / count


NAIVE: dict[type[Method], Callable[..., torch.Tensor]] = {
    Gvpo: gvpo,
    Real: real,
    Disco: disco,
    Nft: nft,
    MaxRl: lambda g, m: clipped(lambda r, n, size: (r - n / size) / (n / size) if n else 0.0, g, m),
    Raft: lambda g, m: clipped(lambda r, n, size: float(r), g, m),
    ReinforceRej: lambda g, m: clipped(lambda r, n, size: 2.0 * r - 1, g, m),
    PassAtK: lambda g, m: clipped(
        lambda r, n, size: (math.sqrt(size) if m.normalize_by_std else 1.0) if r and n == 1 else 0.0, g, m
    ),
}
