"""Work that may hang or grow without end, done in processes that are killed when it does.

The processes are pebble's. They come from a fork server, which has nothing of this process (neither threads nor its
connection to Ray), so that any thread of any process may ask for them.
"""

import importlib
import math
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.util import Finalize
from typing import Any, Final

from pebble import ProcessPool

#: A process imports its function's module first: seconds, on a busy machine many.
START_SECONDS: Final = 120.0


class IsolationError(Exception):
    """No process can be had."""


@dataclass(frozen=True)
class Limits:
    """What a piece of work may take.

    Attributes:
        timeout_seconds: of wall-clock time; then its process is killed and replaced.
        memory_mib: of address space of its process (MiB); what needs more raises MemoryError there.
        workers: how many processes of this process work at a time.

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
    """Call a function in another process, and wait for its result.

    Args:
        function: a module's; it, its arguments and its result can be pickled.
        arguments: its arguments.
        limits: what it may take. The time starts when a process has taken it on.

    Raises:
        TimeoutError: If it took longer.
        pebble.ProcessExpired: If its process died.
        Exception: What the function raises.
        IsolationError: If no process can be started.
    """
    for _ in range(2):  # a second time if the idle processes were killed from outside
        pool = _pool(function.__module__, limits)
        with suppress(BrokenProcessPool):
            return pool.schedule(_limited, (function, arguments, limits), timeout=limits.timeout_seconds).result()
    raise IsolationError(f"the processes of {function.__module__} are killed, though nothing was asked of them")


def _stop() -> None:
    """At the end of this process, also if multiprocessing has made it, which waits for pebble's processes for ever."""
    for (_, _, process), pool in _pools.items():
        if process == os.getpid():
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()


#: By module, limits, and process: a fork of this one must not talk to its processes.
_pools: dict[tuple[str, Limits, int], ProcessPool] = {}
_starting = threading.Lock()


def _pool(module: str, limits: Limits) -> ProcessPool:
    key = (module, limits, os.getpid())
    with _starting:
        if key not in _pools or not _pools[key].active:
            _pools[key] = _start(module, limits)
        return _pools[key]


def _start(module: str, limits: Limits) -> ProcessPool:
    if multiprocessing.current_process().daemon:
        raise IsolationError("a daemonic process (as of multiprocessing.Pool) can have no processes of its own")
    if any(process != os.getpid() for _, _, process in _pools):
        raise IsolationError("this process was forked from one that has processes for it: start it by spawn")
    if not _pools:
        Finalize(None, _stop, exitpriority=100)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    pool = ProcessPool(limits.workers, initializer=_prepare, initargs=(module, limits), context=context)
    try:
        pool.schedule(os.getpid).result(START_SECONDS)
    except (TimeoutError, BrokenProcessPool) as error:
        pool.stop()  # type: ignore[no-untyped-call]
        raise IsolationError(
            f"no process for {module} came up within {START_SECONDS:.0f} s; what it printed is above. "
            "(A script that starts processes keeps what it does under `if __name__ == '__main__':`.)"
        ) from error
    return pool


def _prepare(module: str, limits: Limits) -> None:
    """Of a new process: all that its work needs is imported before its first time limit starts."""
    importlib.import_module(module)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # pebble's handler would wait for the end of a long multiplication
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = limits.memory_mib * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _limited(function: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits) -> Any:
    """The work itself; the limit of CPU time ends it even if the process that waits for it is dead."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + limits.timeout_seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    return function(*arguments)
