"""Work that may hang or grow without end, done in processes that are killed when it does.

The processes are forked by a server, a program of its own (`isolation_server.py`): it has nothing of this process but
its `sys.path`, so that any thread of any process may ask for them, however that process was started.

Work that is not done soon gives its place to the next and goes on beside it: what hangs holds up only itself.
"""

import atexit
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import Any, Final

import psutil

from pacs.rewards.cores import cores_to_grade
from pacs.rewards.processes import START_SECONDS, Server, Worker
from pacs.rewards.processes import IsolationError as IsolationError

#: Work that has used so much processor time is slow, many times what nearly all work uses; also work that has taken
#: twice as long on the clock.
QUICK_SECONDS: Final = 0.25
#: So many pieces of slow work may go on for each worker.
SLOW_PER_WORKER: Final = 4
# How often work is looked at.
_TICK_SECONDS: Final = 0.1


class ProcessDied(RuntimeError):
    """The process that did the work ended before it was done, killed or by a fault in compiled code."""


@dataclass(frozen=True)
class Limits:
    """What a piece of work may take.

    Attributes:
        timeout_seconds: of wall-clock time, from when a process has taken it on, quick and slow together; then its
            process is killed. Waiting for a process does not count.
        memory_mib: of address space of its process (MiB); what needs more raises MemoryError there.
        workers: how many processes of this process work at a time; 0: as many as it has cores (`cores.py`). Slow work
            (see `QUICK_SECONDS`) does not count: up to `SLOW_PER_WORKER` times as many go on with such work, with a
            lower priority once they have used that processor time. Where there is more, it counts until other such work
            has ended.

    Raises:
        ValueError: If one is not above 0, or `workers` is below it.
    """

    timeout_seconds: float = 3.0
    memory_mib: int = 2048
    workers: int = 0

    def __post_init__(self) -> None:
        are_integers = isinstance(self.memory_mib, int) and isinstance(self.workers, int)
        if not are_integers or not (self.timeout_seconds > 0 and self.memory_mib > 0 and self.workers >= 0):
            wanted = "timeout_seconds and memory_mib must be above 0, workers at least 0, the last two whole"
            raise ValueError(f"{wanted}: {self}")


def isolated(function: Callable[..., Any], *arguments: Any, limits: Limits) -> Any:
    """Call a function in another process, and wait for its result. Those who wait are served in their order.

    Args:
        function: of a module that can be imported, which the program itself (`__main__`) cannot; its arguments and its
            result can be pickled. What it prints to standard output is lost.
        arguments: its arguments.
        limits: what it may take.

    Raises:
        TimeoutError: If it took longer.
        ProcessDied: If its process died.
        Exception: What the function raises.
        IsolationError: If no process can be started.
    """
    with _lock:
        pool = _pools.setdefault((function.__module__, limits), _Pool(function.__module__, limits))
    succeeded, value = pool.run(pickle.dumps((function, arguments)))
    if succeeded:
        return value
    raise value


class _Places:
    """As many as there are workers. Taken in the order of asking, which `threading.Semaphore` does not keep."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[SimpleQueue[None]] = deque()
        self._lock = threading.Lock()

    def take(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn: SimpleQueue[None] = SimpleQueue()
            self._waiting.append(turn)
        try:
            turn.get()
        except BaseException:  # of a signal's handler
            with self._lock:
                given = turn not in self._waiting
                if not given:
                    self._waiting.remove(turn)
            if given:
                self.give()
            raise

    def give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(None)
            else:
                self._free += 1


class _Pool:
    """The processes for one module and limits."""

    def __init__(self, module: str, limits: Limits) -> None:
        self._module, self._limits, self._workers = module, limits, limits.workers or cores_to_grade()
        self._places = _Places(self._workers)
        self._slow = threading.Semaphore(SLOW_PER_WORKER * self._workers)
        self._idle: deque[Worker] = deque()

    def run(self, work: bytes) -> tuple[bool, Any]:
        """Do pickled work; whether it succeeded, and its result or exception."""
        self._places.take()
        placed, worker = True, None
        try:
            worker = self._assign(work)
            start, used_before = time.monotonic(), worker.processor_seconds()
            end = start + self._limits.timeout_seconds
            while not worker.connection.poll(max(0.0, min(_TICK_SECONDS, end - time.monotonic()))):
                now, used = time.monotonic(), worker.processor_seconds() - used_before
                if now >= end:
                    raise TimeoutError(f"not done within {self._limits.timeout_seconds} s")
                is_slow = used >= QUICK_SECONDS or now - start >= 2 * QUICK_SECONDS
                if placed and is_slow and self._slow.acquire(blocking=False):
                    placed = False
                    self._places.give()
                if not placed and used >= QUICK_SECONDS:
                    worker.lower_priority()
            try:
                answer: tuple[bool, Any] = worker.connection.recv()
            except (EOFError, ConnectionError) as error:
                raise ProcessDied(f"a process for {self._module} died at work") from error
            if not worker.lowered and len(self._idle) < self._workers:
                self._idle.append(worker)
                worker = None
            return answer
        finally:
            if worker is not None:
                worker.end()
            if placed:
                self._places.give()
            else:
                self._slow.release()

    def _assign(self, work: bytes) -> Worker:
        """Give work to an idle process; to a new one if there is none, or if it was killed before it began."""
        for _ in range(self._workers + 2):
            worker = self._idle.pop() if self._idle else self._fork()
            with suppress(EOFError, ConnectionError):
                worker.connection.send_bytes(work)
                if worker.connection.poll(START_SECONDS):
                    worker.connection.recv_bytes()  # it begins
                    return worker
            worker.end()
        raise IsolationError(f"the processes for {self._module} are killed, though nothing was asked of them")

    def _fork(self) -> Worker:
        for _ in range(2):  # a second time if the server was killed
            with _lock:
                if self._module not in _servers:
                    _servers[self._module] = Server(self._module)
                server = _servers[self._module]
            try:
                return server.fork(asdict(self._limits))
            except psutil.NoSuchProcess:  # killed at once, as where memory runs out
                continue
            except (OSError, EOFError):
                pass
            with _lock:
                if _servers.get(self._module) is server:
                    _servers.pop(self._module).end()
        raise IsolationError(f"the processes for {self._module}, or their server, are killed each time")


def _end() -> None:
    """At the end of this process; where it is killed, the servers see it."""
    for server in _servers.values():
        server.end()


def _forget() -> None:
    """In a fork of this process: it has servers of its own."""
    global _lock
    _lock = threading.Lock()
    for server in _servers.values():
        server.forget()
    _servers.clear()
    _pools.clear()


_servers: dict[str, Server] = {}
_pools: dict[tuple[str, Limits], _Pool] = {}
_lock = threading.Lock()
atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
