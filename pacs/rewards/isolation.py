"""Work that may hang or grow without end, done in processes that are killed when it does.

The processes are forked by a server, a program of its own (`isolation_server.py`): it has nothing of this process but
its `sys.path`, so that any thread of any process may ask for them, however that process was started.

Work that is not done soon gives its place to the next and goes on beside it: what hangs holds up only itself.
"""

import atexit
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import ORIGINAL_DIR  # type: ignore[attr-defined]
from queue import SimpleQueue
from typing import Any, Final

import psutil

#: A server imports its module first: seconds, on a busy machine many.
START_SECONDS: Final = 120.0
#: What has worked for so long is slow: many times what nearly all work takes.
QUICK_SECONDS: Final = 0.25
#: So many pieces of slow work may go on for each worker.
SLOW_PER_WORKER: Final = 4
# A ninth of the processor time that a process with the usual priority gets.
_LOWER_PRIORITY: Final = 10


class IsolationError(Exception):
    """No process can be had."""


class ProcessDied(RuntimeError):
    """The process that did the work ended before it was done, killed or by a fault in compiled code."""


@dataclass(frozen=True)
class Limits:
    """What a piece of work may take.

    Attributes:
        timeout_seconds: of wall-clock time, from when a process has taken it on, quick and slow together; then its
            process is killed. Waiting for a process does not count.
        memory_mib: of address space of its process (MiB); what needs more raises MemoryError there.
        workers: how many processes of this process work at a time. Work that has taken `QUICK_SECONDS` no longer
            counts: up to `SLOW_PER_WORKER` times as many go on with such work, with a lower priority once it has taken
            as much processor time. Where there are more, they count until others have ended.

    Raises:
        ValueError: If one is not above 0.
    """

    timeout_seconds: float = 3.0
    memory_mib: int = 2048
    workers: int = 2

    def __post_init__(self) -> None:
        whole = isinstance(self.memory_mib, int) and isinstance(self.workers, int)
        if not whole or not all(value > 0 for value in (self.timeout_seconds, self.memory_mib, self.workers)):
            raise ValueError(f"timeout_seconds, memory_mib and workers must be above 0, the last two whole: {self}")


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


class _Worker:
    """A process, and the connection to it."""

    def __init__(self, pid: int, connection: Connection) -> None:
        self.connection = connection
        self._process = psutil.Process(pid)  # which is never taken for a later one of the same number
        self._lowered = False

    def processor_seconds(self) -> float:
        """Used since its start; infinitely many if it is dead."""
        with suppress(psutil.NoSuchProcess):
            times = self._process.cpu_times()
            return float(times.user + times.system)
        return float("inf")

    def lower_priority(self) -> None:
        if not self._lowered:
            self._lowered = True
            with suppress(psutil.NoSuchProcess):
                self._process.nice(min(self._process.nice() + _LOWER_PRIORITY, 19))

    def end(self) -> None:
        self.connection.close()
        with suppress(psutil.NoSuchProcess):
            self._process.kill()


class _Places:
    """As many as there are workers, each with its idle process, or None. Taken in the order of asking."""

    def __init__(self, count: int) -> None:
        self._free: list[_Worker | None] = [None] * count
        self._waiting: deque[SimpleQueue[_Worker | None]] = deque()
        self._lock = threading.Lock()

    def take(self) -> _Worker | None:
        with self._lock:
            if self._free:
                return self._free.pop()
            turn: SimpleQueue[_Worker | None] = SimpleQueue()
            self._waiting.append(turn)
        try:
            return turn.get()
        except BaseException:  # of a signal's handler
            with self._lock:
                given = turn not in self._waiting
                if not given:
                    self._waiting.remove(turn)
            if given:
                self.give(turn.get())
            raise

    def give(self, worker: _Worker | None) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().put(worker)
            else:
                self._free.append(worker)


class _Pool:
    """The processes for one module and limits."""

    def __init__(self, module: str, limits: Limits) -> None:
        self._module, self._limits = module, limits
        self._places = _Places(limits.workers)
        self._slow = threading.Semaphore(SLOW_PER_WORKER * limits.workers)

    def run(self, work: bytes) -> tuple[bool, Any]:
        """Do pickled work; whether it succeeded, and its result or exception."""
        worker = self._places.take()
        placed, done = True, False
        try:
            worker = self._assign(worker, work)
            start, used = time.monotonic(), worker.processor_seconds()
            end = start + self._limits.timeout_seconds
            while not worker.connection.poll(max(0.0, min(QUICK_SECONDS, end - time.monotonic()))):
                if time.monotonic() >= end:
                    raise TimeoutError(f"not done within {self._limits.timeout_seconds} s")
                if placed and self._slow.acquire(blocking=False):
                    placed = False
                    self._places.give(None)
                if not placed and worker.processor_seconds() - used >= QUICK_SECONDS:
                    worker.lower_priority()
            try:
                answer: tuple[bool, Any] = worker.connection.recv()
            except (EOFError, ConnectionError) as error:
                raise ProcessDied(f"a process for {self._module} died at work") from error
            done = True
            return answer
        finally:
            if worker is not None and not (placed and done):
                worker.end()
            if placed:
                self._places.give(worker if done else None)
            else:
                self._slow.release()

    def _assign(self, worker: _Worker | None, work: bytes) -> _Worker:
        """Give work to an idle process; to a new one if there is none, or if it was killed before it began."""
        for _ in range(3):
            worker = worker or self._fork()
            with suppress(EOFError, ConnectionError):
                worker.connection.send_bytes(work)
                if worker.connection.poll(START_SECONDS):
                    worker.connection.recv_bytes()  # it begins
                    return worker
            worker.end()
            worker = None
        raise IsolationError(f"the processes for {self._module} are killed, though nothing was asked of them")

    def _fork(self) -> _Worker:
        for _ in range(2):  # a second time if the server was killed
            with _lock:
                if self._module not in _servers:
                    _servers[self._module] = _Server(self._module)
                server = _servers[self._module]
            with suppress(OSError, EOFError, psutil.NoSuchProcess):
                return server.fork(self._limits)
            with _lock:
                if _servers.get(self._module) is server:
                    _servers.pop(self._module).end()
        raise IsolationError(f"the server of the processes for {self._module} is killed each time")


class _Server:
    """The process that forks the others."""

    def __init__(self, module: str) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_SECONDS)
        # Relative entries, such as that of `python -c`, are meant from where this process was started.
        path = os.pathsep.join(os.path.join(ORIGINAL_DIR or "", entry) for entry in sys.path)  # noqa: PTH118
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pacs.rewards.isolation_server", module, str(os.getpid())],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": path},
            )
        try:
            said = self._channel.recv(4096).decode() or "it died; what it printed is above"
        except OSError as error:
            said = str(error)
        if said != "ready":
            self.end()
            raise IsolationError(f"no process for {module} came up within {START_SECONDS:.0f} s: {said}")

    def fork(self, limits: Limits) -> _Worker:
        """A new process. Raises OSError or EOFError if the server is dead."""
        with self._lock:
            self._channel.send(json.dumps(asdict(limits)).encode())
            said, descriptors, _, _ = socket.recv_fds(self._channel, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        if not said:
            raise EOFError
        if not descriptors:
            raise IsolationError(f"no process can be forked: {said.decode()}")
        return _Worker(int(said), Connection(descriptors[0]))

    def end(self) -> None:
        """End it, and with it its processes."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """It is another process's."""
        self._channel.close()
        self._process.returncode = 0  # not to be waited for here


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


_servers: dict[str, _Server] = {}
_pools: dict[tuple[str, Limits], _Pool] = {}
_lock = threading.Lock()
atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
