"""VinePPO's steps and advantages: beside loops over tokens, and on a task whose values are known exactly."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pacs.algorithm import batch_constants, check_method, method_loss, method_of
from pacs.algorithm.vineppo import step_advantages, step_starts

TOKENS = st.lists(st.sampled_from(["a", "b\n", "\n", "\n\n", "c\n\nd", " "]), min_size=1, max_size=30)


def naive_starts(texts: list[str], delimiter: str, least: int, most: int) -> list[int]:
    """By the places in the text at which a delimiter ends, looked for from the left without overlap."""
    ends, begun = [], 0
    for last in range(1, len(texts) + 1):  # tokens that are read
        if delimiter in "".join(texts[begun:last]):
            ends.append(last)
            begun = last
    starts = [0]
    for end in ends:
        if end < len(texts) and end - starts[-1] >= least and len(starts) < most:
            starts.append(end)
    return starts


@given(TOKENS, st.sampled_from(["\n\n", "\n", "b\n"]), st.integers(1, 4), st.integers(1, 5))
def test_steps_begin_behind_a_delimiter(texts: list[str], delimiter: str, least: int, most: int) -> None:
    starts = step_starts(texts, delimiter, least, most)
    assert starts == naive_starts(texts, delimiter, least, most)
    assert len(starts) <= most
    assert all(later - earlier >= least for earlier, later in itertools.pairwise(starts))


@given(TOKENS, TOKENS, st.integers(1, 4), st.integers(1, 5))
def test_no_step_depends_on_what_comes_later(texts: list[str], later: list[str], least: int, most: int) -> None:
    """Else the value before it would be a baseline that depends on the action."""
    known, longer = step_starts(texts, "\n\n", least, most), step_starts(texts + later, "\n\n", least, most)
    assert [start for start in longer if start < len(texts)] == known


def test_the_delimiter_of_several_tokens_is_found_and_ends_with_its_last() -> None:
    assert step_starts(["x", "\n", "\n", "y", "\n", "z", "\n\n"], "\n\n", 1, 9) == [0, 3]
    assert step_starts(["x\n\n", "y\n\n", "z"], "\n\n", 2, 9) == [0, 2]
    assert step_starts(["x"], "x", 1, 9) == [0]


def naive(label: float, steps: list[int], values: list[float]) -> list[float]:
    """A token after the other: the next step's value, or R where there is none, less this step's."""
    given = []
    for place, step in enumerate(steps):
        later = [value for value, other in zip(values[place:], steps[place:], strict=True) if other == step + 1]
        given.append((later[0] if later else label) - values[place])
    return given


@pytest.mark.parametrize("seed", range(5))
def test_advantages_are_differences_of_values_and_sum_to_the_reward_less_the_first(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows, width = 12, 9
    lengths = torch.randint(1, width + 1, (rows,), generator=generator)
    mask = torch.arange(width) < lengths[:, None]
    begins = (torch.rand(rows, width, generator=generator) < 0.4) & mask
    begins[:, 0] = False
    steps = begins.cumsum(1).double()
    of_steps = torch.rand(rows, width, generator=generator, dtype=torch.float64)
    values = of_steps.gather(1, steps.long())
    labels = torch.randint(0, 2, (rows,), generator=generator).double()
    # What is outside the mask is not read.
    noise = torch.randn(rows, width, generator=generator, dtype=torch.float64) * 1e6
    advantages = step_advantages(labels, torch.where(mask, steps, 7), torch.where(mask, values, noise), mask)
    for row in range(rows):
        length = int(lengths[row])
        expected = naive(float(labels[row]), steps[row, :length].int().tolist(), values[row, :length].tolist())
        assert advantages[row, :length].tolist() == pytest.approx(expected, abs=1e-12)
        assert (advantages[row, length:] == 0).all()
        ends = (steps[row, :length].diff(append=torch.tensor([-1.0])) != 0).nonzero()[:, 0]
        assert advantages[row, ends].sum() == pytest.approx(float(labels[row] - values[row, 0]), abs=1e-12)


def test_the_expected_gradient_is_that_of_the_pass_rate() -> None:
    """Three steps of one token each, 2^3 responses, values exact: unbiased with any of them as the baseline."""
    logits = torch.linspace(-1, 1, 7, dtype=torch.float64).requires_grad_()  # of a 1 after each prefix, as a heap
    right = {(1, 1, 1), (0, 1, 1), (1, 0, 0), (0, 0, 1)}

    def after(prefix: tuple[int, ...]) -> torch.Tensor:
        return logits[2 ** len(prefix) - 1 + int("".join(map(str, prefix)) or "0", 2)].sigmoid()

    def likelihood(response: tuple[int, ...], start: int = 0) -> torch.Tensor:
        factors = [after(response[:t]) if response[t] else 1 - after(response[:t]) for t in range(start, 3)]
        return torch.stack(factors).prod()

    def value(prefix: tuple[int, ...]) -> torch.Tensor:
        tails = itertools.product((0, 1), repeat=3 - len(prefix))
        known = [likelihood(prefix + tail, len(prefix)) for tail in tails if prefix + tail in right]
        return torch.stack([torch.zeros((), dtype=torch.float64), *known]).sum().detach()

    responses = list(itertools.product((0, 1), repeat=3))
    labels = torch.tensor([float(response in right) for response in responses], dtype=torch.float64)
    mask = torch.ones(8, 3, dtype=torch.bool)
    streams = {
        "step": torch.arange(3.0).expand(8, 3),
        "step_value": torch.stack([torch.stack([value(response[:t]) for t in range(3)]) for response in responses]),
    }
    method = method_of({"name": "vineppo", "aggregation": "seq-mean-token-sum"})
    groups = torch.arange(8)
    constants = batch_constants(labels, groups, method, response_mask=mask, streams=streams)
    # Each response weighs by its likelihood: a loss for each, of itself alone.
    gradient = torch.zeros(7, dtype=torch.float64)
    for row, response in enumerate(responses):
        log_probs = torch.stack(
            [(after(response[:t]) if response[t] else 1 - after(response[:t])).log() for t in range(3)]
        )[None]
        one = torch.tensor([row])
        loss, _ = method_loss(
            log_probs, log_probs.detach(), mask[one], labels[one], groups[one], method, constants=constants.of(one)
        )
        (of_row,) = torch.autograd.grad(loss, logits, retain_graph=True)
        gradient -= likelihood(response).detach() * of_row
    pass_rate = sum(likelihood(response) for response in right)
    (exact,) = torch.autograd.grad(pass_rate, logits)
    assert torch.allclose(gradient, exact, atol=1e-12)
    assert exact.abs().min() > 1e-3


def test_the_kit_passes() -> None:
    for settings in ({}, {"aggregation": "seq-mean-token-sum"}, {"ratio": "none"}):
        check_method(method_of({"name": "vineppo", **settings}), detached=settings.get("ratio") == "none")
