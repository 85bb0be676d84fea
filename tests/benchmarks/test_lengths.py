"""Lengths of the benchmarks of rollouts: those of the log-normal distribution, also of a request that comes back."""

import math
import random
import statistics
from types import SimpleNamespace

import pytest
import torch

PROMPT, END, VOCABULARY = [5, 9], 2, 11

pytestmark = pytest.mark.slow  # vLLM is


def length(seed: int, back_after: int | None = None) -> int:
    """Of a response; it leaves vLLM's batch after so many tokens, and comes back."""
    from benchmarks.lengths import LogNormalLengths

    processor, written = LogNormalLengths(None, torch.device("cpu"), False), []
    row = (0, SimpleNamespace(seed=seed), PROMPT, written)
    processor.update_state(SimpleNamespace(removed=[], added=[row], moved=[]))
    while True:
        if len(written) == back_after:
            processor.update_state(SimpleNamespace(removed=[0], added=[row], moved=[]))
        token = int(processor.apply(torch.rand(1, VOCABULARY)).argmax())
        written.append(token)
        if token == END:
            return len(written)


@pytest.fixture(autouse=True)
def lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.lengths import VARIABLE, setting

    monkeypatch.setenv(VARIABLE, setting(16, 64, 0.5, PROMPT[-1], END)[VARIABLE])


def test_lengths_are_log_normal_and_end_at_the_longest() -> None:
    drawn = [length(seed) for seed in range(2000)]
    below = [round(16 * math.exp(0.5 * random.Random(seed).gauss(0, 1))) for seed in range(2000)]
    expected = [min(64, max(1, each)) for each in below]
    assert statistics.median(drawn) == pytest.approx(statistics.median(expected), abs=1)
    assert statistics.mean(drawn) == pytest.approx(statistics.mean(expected), rel=0.05)
    assert max(drawn) <= 64


def test_a_request_that_comes_back_to_the_batch_ends_where_it_would_have() -> None:
    assert [length(seed, back_after=4) for seed in range(200)] == [length(seed) for seed in range(200)]
