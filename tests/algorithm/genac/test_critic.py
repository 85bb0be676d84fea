"""The critic's gradient: its expectation over all traces, beside autograd of the exact expected reward."""

import itertools

import pytest
import torch

from pacs.algorithm import batch_constants, method_loss
from pacs.algorithm.genac import GenAcCritic, critic_reward, read_value

#: All that a small critic may write: two tokens, of three each; the second is the score, or nothing that can be read.
TRACES = list(itertools.product(range(3), repeat=2))
WRITTEN = ["\\boxed{2}", "\\boxed{9}", "no idea"]
#: The chance of success in two states.
CHANCES = (0.35, 0.8)


def log_probs(logits: torch.Tensor, state: int, trace: tuple[int, int]) -> torch.Tensor:
    """(2,) of a trace's tokens; the second depends on the first."""
    first = logits[state, 0].log_softmax(0)[trace[0]]
    second = logits[state, 1 + trace[0]].log_softmax(0)[trace[1]]
    return torch.stack([first, second])


def reward(outcome: float, trace: tuple[int, int]) -> float:
    return critic_reward(outcome, read_value(WRITTEN[trace[1]]))


def expected_reward(logits: torch.Tensor) -> torch.Tensor:
    """The mean over both states of E[R], outcomes and traces enumerated."""
    total = torch.zeros((), dtype=torch.float64)
    for state, trace in itertools.product((0, 1), TRACES):
        likelihood = log_probs(logits, state, trace).sum().exp()
        right = CHANCES[state]
        total = total + likelihood * (right * reward(1, trace) + (1 - right) * reward(0, trace)) / 2
    return total


@pytest.mark.parametrize("baseline", ["leave_one_out", "none"])
@pytest.mark.parametrize("moved", [False, True])
def test_its_expectation_is_the_gradient_of_the_expected_reward(baseline: str, moved: bool) -> None:
    """A step has a trace of each state; all pairs of traces and of outcomes, each by its likelihood.

    Where the critic has moved since it sampled, tokens are weighed by their ratios: for traces of two tokens that is
    not the whole likelihood ratio, and the gradient is that of the sum of token ratios.
    """
    generator = torch.Generator().manual_seed(0)
    sampler = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    step = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64) if moved else 0
    logits = (sampler + 0.3 * step).requires_grad_()
    method = GenAcCritic(baseline=baseline)
    groups, mask = torch.arange(2), torch.ones(2, 2, dtype=torch.bool)
    gradient = torch.zeros_like(sampler)
    exact = torch.zeros((), dtype=torch.float64)
    for traces in itertools.product(TRACES, repeat=2):
        policy = torch.stack([log_probs(logits, state, traces[state]) for state in (0, 1)])
        old = torch.stack([log_probs(sampler, state, traces[state]) for state in (0, 1)])
        for outcomes in itertools.product((0, 1), repeat=2):
            chances = [CHANCES[s] if outcomes[s] else 1 - CHANCES[s] for s in (0, 1)]
            weight = old.sum().exp() * chances[0] * chances[1]
            labels = torch.tensor([reward(outcomes[s], traces[s]) for s in (0, 1)], dtype=torch.float64)
            constants = batch_constants(labels, groups, method, response_mask=mask, streams={})
            loss, _ = method_loss(policy, old, mask, labels, groups, method, constants=constants)
            (of_pair,) = torch.autograd.grad(loss, logits, retain_graph=True)
            gradient -= weight * of_pair
            by_token = (policy - old).exp().sum(dim=1)
            less = labels.flip(0) if baseline == "leave_one_out" else torch.zeros(2)
            exact = exact + weight * ((labels - less) * by_token).mean()
    wanted = exact if moved else expected_reward(logits)
    (expected,) = torch.autograd.grad(wanted, logits)
    assert torch.allclose(gradient, expected, atol=1e-12)
    assert expected.abs().max() > 1e-3


def test_rows_that_do_not_count_are_no_baseline() -> None:
    labels = torch.tensor([1.0, 0.5, 99.0, 0.0])
    rows = torch.tensor([True, True, False, True])
    mask = torch.ones(4, 1, dtype=torch.bool)
    constants = batch_constants(labels, torch.arange(4), GenAcCritic(), rows, response_mask=mask, streams={})
    assert constants.credit is not None
    assert constants.credit.tolist() == pytest.approx([0.75, 0.0, 0.0, -0.75])
