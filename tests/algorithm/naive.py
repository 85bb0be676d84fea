"""The equations once more, a row at a time in Python, to hold the vectorised ones to; and test batches."""

from dataclasses import dataclass, replace

import torch

from pacs.algorithm import Constants, Method, Pacs, batch_constants
from tests.pairwise import pairwise

ESTIMATORS = ["rloo", "grpo", "dr_grpo", "none"]
WEIGHTS = [
    ("log_odds", "group"),
    ("log_odds", "batch"),
    ("log_pass_rate", "group"),
    ("log_pass_rate", "batch"),
    ("pass_rate", "group"),
]
ALL_CONFIGS = [
    Pacs(
        beta=0.7,
        estimator=e,
        objective=o,
        weight_scope=s,
        normalize_by_length=n,
        single_class_groups=c,
        policy_gradient_term=p,
    )
    for e, (o, s), n, c, p in pairwise(ESTIMATORS, WEIGHTS, [False, True], ["keep", "drop"], [False, True])
]


def config_name(config: Pacs) -> str:
    flags = ["length"] * config.normalize_by_length + ["pg"] * config.policy_gradient_term
    return "-".join([config.estimator, config.objective, config.weight_scope, config.single_class_groups, *flags])


@dataclass(frozen=True)
class Batch:
    log_probs: torch.Tensor
    ref_log_probs: torch.Tensor
    response_mask: torch.Tensor
    labels: torch.Tensor
    group_ids: torch.Tensor
    row_mask: torch.Tensor

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        return self.log_probs, self.ref_log_probs, self.response_mask, self.labels, self.group_ids

    @property
    def log_likelihoods(self) -> torch.Tensor:
        return torch.where(self.response_mask & self.row_mask[:, None], self.log_probs, 0).sum(dim=1)

    def constants(self, method: Method, coefficients: torch.Tensor | None = None) -> Constants:
        """Those of all rows, with other coefficients if they are given."""
        own = batch_constants(self.labels, self.group_ids, method, self.row_mask, response_mask=self.response_mask)
        return own if coefficients is None else replace(own, coefficients=coefficients)

    def take(self, rows: torch.Tensor) -> "Batch":
        return Batch(*(value[rows] for value in vars(self).values()))

    def to(self, dtype: torch.dtype) -> "Batch":
        return replace(self, log_probs=self.log_probs.to(dtype), ref_log_probs=self.ref_log_probs.to(dtype))


def make_batch(
    seed: int = 0, sizes: tuple[int, ...] = (4, 3, 5, 3, 3), tokens: int = 6, padding_rows: int = 4
) -> Batch:
    """Float64 groups of the given sizes in shuffled row order, the last group of one class only.

    Responses have holes, as where a tool has written: the mask is 0 before, between and after the policy's tokens, of
    which each has at least one. Whatever has no business in the result is NaN or inf: positions outside the mask, and
    the rows of padding, half of which claim to belong to the first group and half to a group of their own.
    """
    random = torch.Generator().manual_seed(seed)
    ids_of_groups = torch.tensor([7, -3, 10**12, 0, 5, 11, 12, 13])[: len(sizes)]
    group_ids = ids_of_groups.repeat_interleave(torch.tensor(sizes))
    rows = len(group_ids)
    labels = torch.randint(0, 2, (rows,), generator=random)
    for position, group_id in enumerate(ids_of_groups):
        members = torch.nonzero(group_ids == group_id).squeeze(1)
        labels[members[0]], labels[members[-1]] = 1, 0
        if position == len(sizes) - 1:
            labels[members] = 1
    ends = torch.randint(0, tokens, (rows,), generator=random)[:, None]
    place = torch.arange(tokens)
    mask = (place == ends) | ((place < ends) & (torch.rand((rows, tokens), generator=random) < 0.6))
    log_probs = -torch.rand((rows, tokens), generator=random, dtype=torch.float64) * 2
    ref = -torch.rand((rows, tokens), generator=random, dtype=torch.float64) * 2
    garbage = torch.tensor([float("nan"), float("inf"), float("-inf")], dtype=torch.float64)
    log_probs = torch.where(mask, log_probs, garbage[torch.randint(0, 3, mask.shape, generator=random)])
    ref = torch.where(mask, ref, garbage[torch.randint(0, 3, mask.shape, generator=random)])

    # Padding claims tokens, so that row_mask alone keeps it out.
    nan_rows = torch.full((padding_rows, tokens), float("nan"), dtype=torch.float64)
    padding_ids = torch.tensor([7, 99]).repeat(padding_rows)[:padding_rows]
    batch = Batch(
        log_probs=torch.cat([log_probs, nan_rows]),
        ref_log_probs=torch.cat([ref, nan_rows]),
        response_mask=torch.cat([mask, torch.ones_like(nan_rows, dtype=torch.bool)]),
        labels=torch.cat([labels, torch.full((padding_rows,), -1)]),
        group_ids=torch.cat([group_ids, padding_ids]),
        row_mask=torch.cat([torch.ones(rows), torch.zeros(padding_rows)]).bool(),
    )
    return batch.take(torch.randperm(rows + padding_rows, generator=random))


def naive_rewards(batch: Batch, config: Pacs) -> dict[int, torch.Tensor]:
    rewards = {}
    for i in range(len(batch.labels)):
        if batch.row_mask[i]:
            tokens = [t for t in range(batch.response_mask.shape[1]) if batch.response_mask[i, t]]
            reward = torch.zeros((), dtype=torch.float64)
            for t in tokens:
                reward = reward + (batch.log_probs[i, t] - batch.ref_log_probs[i, t]) * config.beta
            rewards[i] = reward / max(len(tokens), 1) if config.normalize_by_length else reward
    return rewards


def naive_members(batch: Batch, i: int) -> list[int]:
    return [
        j
        for j in range(len(batch.labels))
        if batch.row_mask[j] and batch.group_ids[j].item() == batch.group_ids[i].item()
    ]


def naive_score(i: int, members: list[int], rewards: dict[int, torch.Tensor], estimator: str) -> torch.Tensor:
    size = len(members)
    mean = sum(rewards[j] for j in members) / size
    if estimator == "none":
        return rewards[i]
    if estimator == "rloo":
        return rewards[i] - sum(rewards[j] for j in members if j != i) / (size - 1)
    if estimator == "grpo":
        variance = sum((rewards[j] - mean) ** 2 for j in members) / (size - 1)
        if variance.item() >= 1e-6:
            return (rewards[i] - mean) / (variance**0.5 + 1e-6)
    return rewards[i] - mean


def naive_counted(batch: Batch, config: Pacs) -> list[int]:
    rows = [i for i in range(len(batch.labels)) if batch.row_mask[i]]
    if config.single_class_groups == "keep":
        return rows
    return [i for i in rows if len({int(batch.labels[j]) for j in naive_members(batch, i)}) == 2]


def naive_weight(i: int, batch: Batch, config: Pacs) -> float:
    if config.objective == "pass_rate":
        return 1.0
    pool = naive_members(batch, i) if config.weight_scope == "group" else naive_counted(batch, config)
    if config.objective == "log_pass_rate":
        right = sum(int(batch.labels[j]) for j in pool)
        return len(pool) / right if right else 1.0
    same = [j for j in pool if batch.labels[j] == batch.labels[i]]
    return 1.0 if len(same) == len(pool) else len(pool) / (2 * len(same))


def naive_loss(batch: Batch, config: Pacs) -> torch.Tensor:
    rewards = naive_rewards(batch, config)
    active = naive_counted(batch, config)
    total = torch.zeros((), dtype=torch.float64)
    for i in active:
        sigma = torch.sigmoid(naive_score(i, naive_members(batch, i), rewards, config.estimator))
        weighted = -naive_weight(i, batch, config) * torch.log(sigma if batch.labels[i] == 1 else 1 - sigma)
        total = total + weighted
        if config.policy_gradient_term:
            likelihood = batch.log_probs[i][batch.response_mask[i]].sum()
            total = total + weighted.detach() * (likelihood - likelihood.detach())
    return total / len(active)


def gradient(loss: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    (result,) = torch.autograd.grad(loss, leaf)
    return result
