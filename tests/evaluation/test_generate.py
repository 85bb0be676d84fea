"""Handing out: no engine waits for the driver, and none is left with work when the others have none."""

import random
from collections import deque

import pytest

from pacs.base.errors import UserError
from pacs.evaluation.engines import count_engines, room
from pacs.evaluation.sample import sample_seed


def simulate(lengths: list[int], engines: int, max_num_seqs: int) -> tuple[int, list[int]]:
    """Steps until all is drawn, when each engine works on at most `max_num_seqs` at a time, and the steps in which each
    had nothing to do before that."""
    queue = deque(lengths)
    running: list[list[int]] = [[] for _ in range(engines)]
    waiting: list[deque[int]] = [deque() for _ in range(engines)]
    steps, idle = 0, [0] * engines
    while queue or any(running) or any(waiting):
        for engine in range(engines):
            has = [len(some) + len(more) for some, more in zip(running, waiting, strict=True)]
            count = room(len(queue), has[engine], sum(has), engines, max_num_seqs)
            waiting[engine].extend(queue.popleft() for _ in range(min(count, len(queue))))
        for engine in range(engines):
            while waiting[engine] and len(running[engine]) < max_num_seqs:
                running[engine].append(waiting[engine].popleft())
            idle[engine] += not running[engine]
            running[engine] = [left - 1 for left in running[engine] if left > 1]
        steps += 1
    return steps, idle


@pytest.mark.parametrize("count", [3, 100, 1000, 5000])
@pytest.mark.parametrize("engines", [1, 2, 7])
def test_engines_end_together(count: int, engines: int) -> None:
    random_ = random.Random(count)
    lengths = [random_.choice([1, 5, 20, 60]) for _ in range(count)]
    steps, idle = simulate(lengths, engines, max_num_seqs=16)
    # One length at most: what an engine drew last may be the longest.
    assert max(idle) <= max(lengths) or count < engines
    # No schedule is shorter than the work itself, or than the longest sample; this one is longer by one length at most.
    assert steps <= sum(lengths) / (engines * 16) + max(lengths)


def test_few_samples_are_shared() -> None:
    assert room(100, 0, 0, 4, 256) == 25
    assert room(75, 0, 25, 4, 256) == 25


def test_an_engine_has_twice_what_it_works_on_and_less_near_the_end() -> None:
    assert room(10_000, 0, 0, 2, 256) == 512
    assert room(10_000, 500, 1012, 2, 256) == 12
    assert room(500, 300, 700, 2, 256) == 0
    assert room(500, 280, 700, 2, 256) == 8


def test_an_engine_of_one_request_at_a_time_has_one_in_reserve() -> None:
    assert room(2, 1, 2, 2, 1) == 1


def test_the_number_of_engines() -> None:
    assert count_engines([], 1, None) == 1
    assert count_engines([0], 1, 3) == 3
    assert count_engines([8, 0, 8], 1, None) == 16
    assert count_engines([8, 6], 4, None) == 3
    assert count_engines([8], 2, 3) == 3
    with pytest.raises(UserError, match="--engines 5: there are GPUs for 4"):
        count_engines([8], 2, 5)
    with pytest.raises(UserError, match="no node has more than 2 GPUs"):
        count_engines([2, 2], 4, None)
    with pytest.raises(UserError, match="there is no GPU here"):
        count_engines([0], 2, None)


def test_a_seed_is_a_samples_own_and_stays() -> None:
    seeds = {
        sample_seed(seed, task, problem, index)
        for seed in range(3)
        for task in ("a", "b")
        for problem in ("1", "11")
        for index in range(50)
    }
    assert len(seeds) == 3 * 2 * 2 * 50
    assert all(0 <= seed < 2**63 for seed in seeds)
    # What was sampled by an earlier version goes on.
    assert sample_seed(0, "math500", "test/algebra/1.json", 3) == 265775226824778905
