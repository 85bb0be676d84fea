"""The expected gradient under a correction, by every group of all responses that there are: nothing is sampled.

The policy is a table: three tokens, in responses of one or two. What another policy mu sampled is weighted by
`update.correction`; the expectation over mu is held to one in plain Python, which has no ratio in it. By truncation a
token counts as if it were sampled with min(pi, cap mu), and by masking with pi where that is near mu.
"""

import math
from collections.abc import Callable
from itertools import product
from statistics import fmean, stdev

import pytest
import torch

from pacs.algorithm import (
    CorrectionConfig,
    Method,
    Pacs,
    advantage_loss,
    batch_constants,
    correction_weights,
    credit_means,
    credited_objectives,
    method_loss,
    scale_gradient,
    score_responses,
)
from pacs.algorithm.aggregated import Grpo, Rloo
from pacs.algorithm.policy_gradient import MaxRl, Raft

#: The advantages of a group, by its labels.
Credit = Callable[[list[int]], list[float]]
V, G = 3, 3
#: Of a response, by its place in the table.
RIGHT = (1, 0, 0, 0, 0, 1, 0, 1, 0)
CORRECTIONS = {
    "none": CorrectionConfig(),
    "truncated": CorrectionConfig(kind="truncate", cap=1.2),
    "IcePop": CorrectionConfig(kind="mask", cap=1.5, lower=0.8),
    "geometric": CorrectionConfig(sequence_cap=1.15),
    "IcePop and geometric": CorrectionConfig(kind="mask", cap=1.6, sequence_cap=1.3, sequence_lower=0.8),
}


def log_odds(labels: list[int]) -> list[float]:
    """PACS where every score is 0: A_i = -(e_i - the mean e of the others), e_i = w_i (1/2 - R_i)."""
    right = sum(labels)
    mixed = 0 < right < G
    e = [(G / (2 * (right if label else G - right)) if mixed else 1.0) * (0.5 - label) for label in labels]
    return [-(own - (sum(e) - own) / (G - 1)) for own in e]


def less_the_others(labels: list[int]) -> list[float]:
    return [label - (sum(labels) - label) / (G - 1) for label in labels]


METHODS: dict[str, tuple[Method, Credit]] = {
    "pacs": (Pacs(), log_odds),
    "pacs, pass_rate": (Pacs(objective="pass_rate"), less_the_others),
    "rloo": (Rloo(), less_the_others),
    "grpo": (Grpo(), lambda labels: [(label - fmean(labels)) / (stdev(labels) + 1e-6) for label in labels]),
    "maxrl": (MaxRl(), lambda labels: [(label - fmean(labels)) / (fmean(labels) or 1) for label in labels]),
    "raft": (Raft(), lambda labels: [float(label) for label in labels]),
}


def policy(seed: int, near: torch.Tensor | None = None) -> torch.Tensor:
    """Logits of the first token, then of the second behind each first one."""
    drawn = torch.randn(V + V * V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn if near is None else near + 0.4 * drawn


def table(logits: torch.Tensor, tokens: int) -> torch.Tensor:
    """(responses, tokens) log-probabilities of all responses of so many tokens."""
    first = logits[:V].log_softmax(0)
    if tokens == 1:
        return first[:, None]
    return torch.stack([first.repeat_interleave(V), logits[V:].view(V, V).log_softmax(1).view(-1)], dim=1)


def expected_gradient(
    pi: torch.Tensor, mu: torch.Tensor, tokens: int, method: Method, config: CorrectionConfig, strategy: str
) -> torch.Tensor:
    """The code's, of the sum over all groups, each times its probability under mu."""
    logits, rollout = pi.clone().requires_grad_(), table(mu, tokens)
    count = len(rollout)
    chosen = torch.tensor(list(product(range(count), repeat=G))).view(-1)
    labels, groups = torch.tensor(RIGHT, dtype=torch.float64)[chosen], torch.arange(len(chosen)) // G
    log_probs, sampled = table(logits, tokens)[chosen], rollout[chosen]
    old, mask = log_probs.detach(), torch.ones_like(sampled, dtype=torch.bool)
    chances = sampled.sum(1).view(-1, G).sum(1).exp().repeat_interleave(G)
    weights = correction_weights(old, sampled, mask, config) if config.active else torch.ones_like(old)
    trained = scale_gradient(log_probs, weights * chances[:, None])
    constants = batch_constants(labels, groups, method, response_mask=mask)
    if strategy == "grouped":
        loss, _ = method_loss(trained, old, mask, labels, groups, method, denominator=1.0, constants=constants)
    else:
        objectives = None
        if method.tokenwise:
            objectives = credited_objectives(trained, old, mask, method, constants.credit)
        rows = score_responses(
            torch.zeros_like(chances), mask.sum(1), labels, groups, method,
            token_sums=None if objectives is None else objectives.sum(dim=1),
            coefficients=constants.coefficients, credit=credit_means(constants.credit, mask),
        )  # fmt: skip
        loss = advantage_loss(trained, objectives, mask, rows, denominator=1.0)
    return torch.autograd.grad(loss, logits)[0]


def enumerated(
    pi: torch.Tensor, mu: torch.Tensor, tokens: int, credit: Credit, config: CorrectionConfig
) -> torch.Tensor:
    """The same without a ratio: of each token the measure that it counts by, the others being mu's."""
    p, m = table(pi, tokens).exp().tolist(), table(mu, tokens).exp().tolist()
    low, high = config.lower or 1 / config.cap, config.cap

    def measure(response: int, token: int) -> float:
        ours, theirs = p[response][token], m[response][token]
        if config.sequence_cap is not None:
            most, least = config.sequence_cap, config.sequence_lower or 1 / config.sequence_cap
            likely, sampled = math.prod(p[response]), math.prod(m[response])
            if not least**tokens * sampled <= likely <= most**tokens * sampled:
                return 0.0
        if config.kind == "truncate":
            ours = min(ours, high * theirs)
        elif config.kind == "mask":
            ours = ours if low * theirs <= ours <= high * theirs else 0.0
        else:
            ours = theirs
        return float(ours * math.prod(m[response]) / theirs)

    pulls = [[0.0] * tokens for _ in p]
    for group in product(range(len(p)), repeat=G):
        advantages = credit([RIGHT[response] for response in group])
        for i, response in enumerate(group):
            others = math.prod(math.prod(m[other]) for j, other in enumerate(group) if j != i)
            for token in range(tokens):
                pulls[response][token] += others * measure(response, token) * advantages[i]
    logits = pi.clone().requires_grad_()
    total = (torch.tensor(pulls, dtype=torch.float64) * table(logits, tokens)).sum()
    return -torch.autograd.grad(total, logits)[0]


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", METHODS)
def test_the_expected_gradient_is_that_of_the_truncated_or_masked_measure(name: str, correction: str) -> None:
    method, credit = METHODS[name]
    pi = policy(0)
    mu, config = policy(1, near=pi), CORRECTIONS[correction]
    expected = enumerated(pi, mu, 2, credit, config)
    assert expected.norm() > 1e-3
    for strategy in ("grouped", "cached"):
        found = expected_gradient(pi, mu, 2, method, config, strategy)
        torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-12)


def test_each_correction_of_these_leaves_something_out() -> None:
    """Else the test above would not tell them from plain ratios."""
    pi = policy(0)
    old, rollout = table(pi, 2), table(policy(1, near=pi), 2)
    ratios, means = (old - rollout).exp(), (old - rollout).mean(1).exp()
    everything = torch.ones_like(old, dtype=torch.bool)
    for name, config in CORRECTIONS.items():
        weights = correction_weights(old, rollout, everything, config)
        plain = ratios if config.kind else torch.ones_like(ratios)
        changed = ~torch.isclose(weights, plain)
        assert bool(changed.any()) == (name != "none")
        assert not changed.all()
    assert (means > 1.15).any() or (means < 1 / 1.15).any()


@pytest.mark.parametrize("name", ["rloo", "pacs, pass_rate"])
def test_of_single_tokens_ratios_without_a_bound_give_the_gradient_of_fresh_rollouts(name: str) -> None:
    """To all digits, where the other responses enter an advantage by their labels' mean alone."""
    method, _ = METHODS[name]
    for seed in range(5):
        pi = policy(seed)
        mu = policy(seed + 100, near=pi)
        fresh = expected_gradient(pi, pi, 1, method, CorrectionConfig(), "grouped")
        stale = expected_gradient(pi, mu, 1, method, CorrectionConfig(), "grouped")
        ratios = CorrectionConfig(kind="truncate", cap=1e9)
        torch.testing.assert_close(expected_gradient(pi, mu, 1, method, ratios, "cached"), fresh, rtol=1e-8, atol=1e-12)
        assert (stale - fresh).norm() > 1e-2 * fresh.norm()


@pytest.mark.parametrize("name", ["pacs", "grpo"])
def test_of_longer_responses_they_take_a_part_of_the_bias_away(name: str) -> None:
    """From .35 of the gradient's norm to .23: what is before a token, and the rest of its group, stay the sampler's."""
    method, _ = METHODS[name]
    without: list[float] = []
    corrected: list[float] = []
    for seed in range(10):
        pi = policy(seed)
        mu = policy(seed + 100, near=pi)
        fresh = expected_gradient(pi, pi, 2, method, CorrectionConfig(), "grouped")
        for config, biases in ((CorrectionConfig(), without), (CorrectionConfig(kind="truncate"), corrected)):
            bias = expected_gradient(pi, mu, 2, method, config, "grouped") - fresh
            biases.append(float(bias.norm() / fresh.norm()))
    assert (fmean(without), fmean(corrected)) == pytest.approx((0.347, 0.228), abs=1e-3)  # as docs/algorithm.md has it
