"""Where the expected loss itself has its minimum, and where PACS goes with labels that are right by chance."""

import math
from functools import cache
from typing import NamedTuple

import torch

from pacs.algorithm import Pacs
from recipes.theory.enumeration import all_groups, expected_loss, first_term, log_softmax, sampled_gradient
from recipes.theory.flow import ANSWERS, LABELS, State, descend, start, state

LR = 5.0


class Minimum(NamedTuple):
    """Where the descent by both terms of Eq. 5 ends, and where it should.

    Attributes:
        found: state after the last update.
        loss: expected loss there.
        pass_rate: the minimiser over p of the loss below.
        least: its value, (p^2 + (1-p)^2) log 2 + 2 p (1-p) log(1 + e^-(logit p - logit p_ref)).
    """

    found: State
    loss: float
    pass_rate: float
    least: float


@cache
def minimum(updates: int = 150) -> Minimum:
    """Of 12 responses, 5 right, G = 2, K = never."""
    method, groups, theta = Pacs(), all_groups(ANSWERS, 2), start()[None]
    reference = log_softmax(theta)
    for _ in range(updates):
        at = (method, log_softmax(theta), reference, LABELS, groups)
        theta = theta - LR * (first_term(*at) + sampled_gradient(*at))
    p_ref = float((reference.exp() * LABELS).sum())
    grid = [n / 10_000 for n in range(1, 10_000)]
    least, best = min((_loss(p, p_ref), p) for p in grid)
    loss = float(expected_loss(method, theta, reference, LABELS, groups))
    return Minimum(state(theta, start()), loss, best, least)


def _loss(p: float, p_ref: float) -> float:
    distance = math.log(p / (1 - p)) - math.log(p_ref / (1 - p_ref))
    return (p**2 + (1 - p) ** 2) * math.log(2) + 2 * p * (1 - p) * math.log1p(math.exp(-distance))


class ByChance(NamedTuple):
    """Expected labels, and the tilt: the slope of the log-ratio against logit q, by least squares weighted by pi.

    Attributes:
        before: expected label of the reference.
        after: that after the descent.
        gibbs: that of the reference times e^(logit q / beta), normalised: Proposition A.2's form.
        tilt: slope of the log-ratio.
        slope: largest entry of the expected gradient after the descent.
    """

    before: float
    after: float
    gibbs: float
    tilt: float
    slope: float


@cache
def by_chance(beta: float, period: int | None = None, updates: int = 1000) -> ByChance:
    """Of 12 responses that are right with a chance q from 0.1 to 0.9, G = 2, no weights.

    The expectation over the labels is the loss of the label q, since the loss is linear in it.
    """
    q = torch.linspace(0.1, 0.9, ANSWERS, dtype=torch.float64)
    method, groups = Pacs(objective="pass_rate", beta=beta), all_groups(ANSWERS, 2)
    first = log_softmax(start())
    ((theta, reference),) = descend(method, (period,), LR, groups, start(), (updates,), q)
    policy = log_softmax(theta)
    slope = sampled_gradient(method, policy, log_softmax(reference), q, groups).abs().max()
    gibbs = log_softmax(first + q.logit() / beta)
    weight, ratio = policy[0].exp(), policy[0] - first
    x, y = (each - (weight * each).sum() for each in (q.logit(), ratio))
    return ByChance(
        float((first.exp() * q).sum()),
        float((weight * q).sum()),
        float((gibbs.exp() * q).sum()),
        float((weight * x * y).sum() / (weight * x * x).sum()),
        float(slope),
    )
