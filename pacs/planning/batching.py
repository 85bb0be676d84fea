"""One vLLM engine on a list of requests: continuous batching, simulated from one event to the next.

What is simulated is the scheduler of vLLM 0.24 (`vllm/v1/core/sched/scheduler.py`; that of 0.28 does the same). In a
step each running request gets a token, and what is left of `max_num_batched_tokens` goes to the texts of waiting ones,
first come, first served, the last of them in part. A request is let in if there are a seat (`max_num_seqs`) and free
blocks for all tokens that it has so far; nothing is kept for those that it will write. When it needs another block,
every 16 tokens, and none is free, the request that was let in last loses all its blocks and waits before all others;
what it had written is calculated again, but for blocks that nobody has taken meanwhile. Then nobody is let in.
Requests with the same prompt share its full blocks.

Between two events (the next request ends, or the free blocks do not last for one more step) the batch stays the same,
so that all steps of the time between are added up at once.
"""

import heapq
from collections import Counter, deque
from collections.abc import Iterable

from pacs.planning.free_blocks import FreeBlocks
from pacs.planning.serving import BLOCK_TOKENS, Limits, Served, blocks_of
from pacs.planning.step_seconds import StepSeconds


class _Request:
    """One response. `known` tokens are written at step `since`, in which its next token comes; one more each step."""

    __slots__ = ("done", "group", "held", "known", "left", "prompt", "response", "shared", "since")

    def __init__(self, prompt: int, response: int, group: int) -> None:
        self.prompt, self.response, self.group = prompt, response, group
        self.done = 0  # tokens of the response, when it was let in
        self.known = self.since = 0
        self.left = 0  # tokens still to be calculated before the next one comes
        self.held = self.shared = 0  # blocks, and how many of them are the group's

    @property
    def tokens(self) -> int:
        return self.prompt + self.done


class Simulation:
    """The state of an engine after a step; `run` goes on to the end.

    Args:
        requests: tokens of the prompt, tokens of the response (at least 1), and a number that all requests with the
            same prompt have, in the order in which they came; they have all come before the first step.
        limits: of the engine. A request that the whole cache cannot hold would wait for ever: ValueError.
        seconds: of a step.
    """

    def __init__(self, requests: Iterable[tuple[int, int, int]], limits: Limits, seconds: StepSeconds) -> None:
        self._waiting = deque(_Request(*request) for request in requests)
        self._limits, self._cost = limits, seconds
        longest = max((blocks_of(each.prompt + each.response - 1) for each in self._waiting), default=0)
        if longest > limits.blocks:
            raise ValueError(f"a cache of {limits.blocks} blocks does not hold a request of {longest}")
        self._free = FreeBlocks(limits.blocks)
        self._running: dict[int, _Request] = {}  # by number, in the order in which they were let in
        self._partial: _Request | None = None  # the last one, if a part of its text was calculated
        self._groups: Counter[int] = Counter()  # running requests that hold a group's blocks
        self._ends: list[tuple[int, int]] = []  # heap: step, number
        self._classes = [0] * BLOCK_TOKENS  # requests by the step, modulo 16, at which they need a block
        self._context = 0  # tokens written by all that generate
        self._number = 0
        self._seconds = 0.0
        self._step = self._preemptions = self._prefilled = self._generated = self._most = 0

    def run(self) -> Served:
        """Until no request is left."""
        while self._waiting or self._running:
            steps = 0 if self._partial or self._can_admit() else self._steps_alike()
            if steps:
                self._generate(steps)
            else:
                self._one_step()
            self._finish()
        counts = (self._step, self._preemptions, self._prefilled, self._generated, self._most)
        return Served(self._seconds, *counts)

    def _can_admit(self) -> bool:
        return bool(
            self._waiting
            and len(self._running) < self._limits.sequences
            and self._needed(self._waiting[0]) + self._limits.watermark * bool(self._running) <= self._free.count
        )

    def _needed(self, request: _Request) -> int:
        """Blocks that it takes of the free ones, with those among them that have its own text."""
        return blocks_of(request.tokens) - (self._shareable(request) if self._groups[request.group] else 0)

    def _shareable(self, request: _Request) -> int:
        """Full blocks of the prompt; its last token is always calculated, for the one that follows.

        Of 16 n tokens each request has the last block for itself: one that comes back, and would find it in another's,
        calculates it.
        """
        return (request.prompt - 1) // BLOCK_TOKENS if self._limits.prefix_caching else 0

    def _steps_alike(self) -> int:
        """Steps until a request ends, or until the step before that for which the blocks do not last."""
        while self._ends[0][1] not in self._running:
            heapq.heappop(self._ends)
        until_end = self._ends[0][0] - self._step
        rounds, free = divmod(self._free.count, sum(self._classes))
        steps = rounds * BLOCK_TOKENS
        while steps < until_end and (need := self._classes[(self._step + steps + 1) % BLOCK_TOKENS]) <= free:
            free -= need
            steps += 1
        return min(steps, until_end)

    def _generate(self, steps: int) -> None:
        """So many steps with the same requests, each of which gets a token."""
        rounds, rest = divmod(steps, BLOCK_TOKENS)
        later = sum(self._classes[(self._step + step) % BLOCK_TOKENS] for step in range(1, rest + 1))
        running = len(self._running)
        self._free.take(rounds * running + later)
        self._seconds += self._cost.generating(running, self._context, steps)
        self._context += steps * running
        self._generated += steps * running
        self._step += steps

    def _one_step(self) -> None:
        """A step in which requests are let in, go on with their prompt, or lose their blocks."""
        self._step += 1
        preempted = self._make_room()
        self._free.take(self._classes[self._step % BLOCK_TOKENS])
        generating = len(self._running) - (self._partial is not None)
        self._context += generating
        budget, prefilled, pairs = self._limits.batched_tokens - generating, 0, 0
        context = self._context
        while budget:
            request = self._partial
            if request is None:
                if preempted or not self._can_admit():
                    break
                request = self._admit()
            part = min(budget, request.left)
            before = request.tokens - request.left
            budget -= part
            prefilled += part
            pairs += part * before + part * (part + 1) // 2
            request.left -= part
            self._partial = request if request.left else None
            if self._partial is None:
                self._start(request)
                self._generated += 1
        self._most = max(self._most, len(self._running))
        self._prefilled += prefilled
        self._generated += generating
        self._seconds += self._cost.mixed(len(self._running), generating, context, prefilled, pairs)

    def _make_room(self) -> bool:
        """Take the blocks of the last ones until the others have what they need in this step."""
        place = self._step % BLOCK_TOKENS
        preempted = False
        while self._classes[place] > self._free.count:
            number, request = self._running.popitem()
            computed = request.tokens - request.left
            if request is self._partial:
                self._partial = None
            else:
                written = request.known + self._step - 1 - request.since
                computed = self._stop(request, written)
                request.done += self._step - request.since
            self._release(request, computed, owner=number)
            request.known = number  # under which its blocks may be found
            self._waiting.appendleft(request)
            self._preemptions += 1
            preempted = True
        return preempted

    def _admit(self) -> _Request:
        """Let the next one in, with the blocks for all its tokens."""
        request = self._waiting.popleft()
        tokens, shareable = request.tokens, self._shareable(request)
        found = shareable
        if not self._groups[request.group]:
            found = self._free.reuse(("group", request.group))
        own = self._free.reuse(request.known) if request.done and found == shareable else 0
        request.held, request.shared = blocks_of(tokens), shareable
        had = (shareable if self._groups[request.group] else found) + own
        self._free.take(request.held - had)
        self._groups[request.group] += 1
        request.left = tokens - (found + own) * BLOCK_TOKENS
        self._number += 1
        self._running[self._number] = request
        return request

    def _start(self, request: _Request) -> None:
        """Its text is written, its next token comes in this step."""
        request.known, request.since = request.tokens, self._step
        self._classes[self._place(request)] += 1
        self._context += request.known
        heapq.heappush(self._ends, (self._step + request.response - request.done - 1, self._number))

    def _place(self, request: _Request) -> int:
        """The steps, modulo 16, at which it writes the first token of a block."""
        return (request.since - request.known + 1) % BLOCK_TOKENS

    def _stop(self, request: _Request, written: int) -> int:
        """It generates no more."""
        self._classes[self._place(request)] -= 1
        self._context -= written
        request.held = blocks_of(written)
        return written

    def _finish(self) -> None:
        """Let those go whose last token has come."""
        while self._ends and self._ends[0][0] <= self._step:
            number = heapq.heappop(self._ends)[1]
            if request := self._running.pop(number, None):
                written = self._stop(request, request.known + self._step - request.since)
                self._release(request, written)

    def _release(self, request: _Request, computed: int, owner: int | None = None) -> None:
        """Give back its blocks; those that are full can be found again."""
        full = computed // BLOCK_TOKENS if self._limits.prefix_caching else 0
        own = max(full - request.shared, 0)
        self._free.give_unfilled(request.held - request.shared - own)
        self._free.give(own, owner)
        self._groups[request.group] -= 1
        if not self._groups[request.group]:
            filled = min(full, request.shared)
            self._free.give_unfilled(request.shared - filled)
            self._free.give(filled, ("group", request.group))
