"""Weights of the responses: class balance (Sec. 3.5), and what else the objective may be."""

from typing import Literal

import torch

from pacs.algorithm.groups import Groups, one_group

Objective = Literal["log_odds", "pass_rate", "log_pass_rate"]
Scope = Literal["group", "batch"]


def row_weights(labels: torch.Tensor, active: Groups, objective: Objective, scope: Scope) -> torch.Tensor:
    """w_i of Eq. 8, by what the expected update of a prompt climbs where policy and reference agree:

        log_odds        of the pass rate: class balance, G / (2 sum_j R_j) of right and G / (2 sum_j (1 - R_j)) of wrong
                        responses where there are both, else 1
        log_pass_rate   1/q of right and wrong ones alike, q = sum_j R_j / G; 1 where there is no right one. q counts as
                        1/G at least: labels of together 1e-6 would make a weight of 1e6 G, by which all else is dwarfed
        pass_rate       1

    (The paper asks for class balance without a formula; this one is the public code's.) A label between 0 and 1 is so
    much of a right response, and the rest of a wrong one: its weight is the sum of both parts'.

    Args:
        labels: (B,) floating, in [0, 1].
        active: groups of the rows that count.
        objective: one of the three above.
        scope: what the sums are over: group, or batch, all rows given as if they were one group. That means the whole
            train batch: call this before it is split.

    Returns:
        (B,) in the dtype of the labels, 0 in rows that do not count.
    """
    if objective == "pass_rate":
        return active.rows.to(labels.dtype)
    groups = one_group(active.rows) if scope == "batch" else active
    correct = groups.sum(labels)
    if objective == "log_pass_rate":
        each = groups.of_rows(torch.where(correct > 0, groups.sizes / correct.clamp(min=1), 1))
        return torch.where(active.rows, each, 0)
    right, wrong = class_weights(correct, groups.sizes)
    return torch.where(active.rows, labels * groups.of_rows(right) + (1 - labels) * groups.of_rows(wrong), 0)


def class_weights(correct: torch.Tensor, sizes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What a right and a wrong response of each group weigh, (K,) each, for (K,) sums of labels and sizes."""
    mixed = (correct > 0) & (correct < sizes)
    # The replaced denominators are those of groups that are not mixed.
    right, wrong = (torch.where(mixed, sizes / (2 * count.where(mixed, 1)), 1) for count in (correct, sizes - correct))
    return right, wrong


def in_mixed_group(labels: torch.Tensor, groups: Groups) -> torch.Tensor:
    """(B,) bool: rows of groups that have both classes, within the row mask, for (B,) labels in [0, 1]."""
    correct = groups.sum(labels)
    return groups.rows & groups.of_rows((correct > 0) & (correct < groups.sizes))
