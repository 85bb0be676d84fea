"""Keeps every engine busy to the end: hands out requests, takes in what is finished."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import ray

from pacs.evaluation.engine import Finished, Request
from pacs.evaluation.engines import POLL_SECONDS, RemoteEngine, answer
from pacs.evaluation.stop import StopRequest


def room(queued: int, here: int, everywhere: int, engines: int, max_num_seqs: int) -> int:
    """How many requests an engine is given.

    It has twice as many as it works on, so that it never waits for the driver; fewer once what is queued is less than
    all engines work on, so that none has a backlog when another has nothing; and never more than its fair share.

    Args:
        queued: requests that no engine has.
        here: that this engine has.
        everywhere: that all engines have.
        engines: how many there are.
        max_num_seqs: how many this one works on at a time.
    """
    spare = max_num_seqs if queued > engines * max_num_seqs else max(max_num_seqs // 8, 1)
    fair = math.ceil((queued + everywhere) / engines)
    return max(0, min(max_num_seqs + spare, fair) - here)


def generate(
    engines: Sequence[RemoteEngine],
    queue: deque[Request],
    deliver: Callable[[Finished], None],
    tick: Callable[[], None],
    stop: StopRequest,
) -> None:
    """Draw all samples of a queue.

    Args:
        engines: that are ready.
        queue: what to draw; those of one problem beside each other find their prompt in an engine's prefix cache.
        deliver: called with each finished sample.
        tick: called several times a second, also while nothing is finished.
        stop: asked as often.

    Raises:
        EngineFailure: If an engine dies; what was delivered is not lost.
        Stopped: If `stop` asks for the end.
    """
    has = {engine.name: 0 for engine in engines}
    calls: dict[Any, RemoteEngine] = {}

    def hand_out(engine: RemoteEngine) -> None:
        count = room(len(queue), has[engine.name], sum(has.values()), len(engines), engine.max_num_seqs)
        requests = [queue.popleft() for _ in range(min(count, len(queue)))]
        has[engine.name] += len(requests)
        if has[engine.name]:
            calls[engine.actor.exchange.remote(requests)] = engine

    for engine in engines:
        hand_out(engine)
    while calls:
        for call in ray.wait(list(calls), timeout=POLL_SECONDS)[0]:
            engine = calls.pop(call)
            finished = answer(engine.name, call)
            has[engine.name] -= len(finished)
            hand_out(engine)  # before anything else: it waits
            for each in finished:
                deliver(each)
        tick()
        stop.check()
