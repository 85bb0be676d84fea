"""Requests to end a run, which the launcher alone heeds.

A service manager, `kill -- -PGID`, or the end of a job sends the signal to every process at once. The launcher has the
step finished and saved; for that all others must live until it ends them. So they are started with the signals blocked,
which any program inherits, Ray's daemons among them. Code of others that ends its children by SIGTERM (a pool, a
server) must still be able to: a process that runs such code ignores the signals itself, and lets its children heed
them.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType

from pacs.base.stops import SIGNALS, Stops
from pacs.base.terminal import say
from pacs.runs.processes import RUN_DIR

_held = threading.local()


@contextmanager
def blocked() -> Iterator[None]:
    """What is started within has the signals blocked: a process, whatever its program, with all that it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    _held.on_purpose = True
    try:
        yield
    finally:
        _held.on_purpose = False
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def block() -> None:
    """Block the signals in this thread, and in what it starts from now on; outside a run do nothing."""
    if RUN_DIR in os.environ:
        with blocked():  # else the first shared memory starts it, which lets two of them through
            resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def heed_parent_alone(_: object = None) -> None:
    """Let nobody but the parent end this process of a run; outside a run do nothing.

    The argument is not read: torch's DataLoader gives its workers' first function one.
    """
    if RUN_DIR in os.environ:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        threading.Thread(target=_end_for, args=(os.getppid(),), daemon=True, name="pacs-signals").start()


def _end_for(parent: int) -> None:
    while signal.sigwaitinfo(SIGNALS).si_pid != parent:
        pass
    os._exit(0)  # as torch's handler does, which this one is before: of another status torch raises in the parent


def ignore() -> None:
    """Ignore the signals in this process of a run, and let its children heed them; outside a run do nothing."""
    if RUN_DIR not in os.environ or threading.current_thread() is not threading.main_thread():
        return
    resource_tracker.ensure_running()  # still with them blocked; and it would let two through when started later
    for number in SIGNALS:
        signal.signal(number, _ignored)
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_heed)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _ignored(number: int, frame: FrameType | None) -> None:
    """A handler, not SIG_IGN: a program that this process starts would inherit that."""


def _hold() -> None:
    """Until a forked child heeds them: else it would lose one that comes at once."""
    _held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _held.mask)


def _heed() -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is _ignored:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if not getattr(_held, "on_purpose", False):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


#: Of `pacs train`: EX_TEMPFAIL of sysexits.h.
STOPPED = 75


class StopRequests(Stops):
    """Tells whoever had a handler of a signal before, too.

    Until `heeded` is set nothing is running that would have to be saved, and a signal ends this process with 75.

    Attributes:
        heeded: whether somebody looks at the signals.
    """

    heeded = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        super().note(number, frame)
        before = self.before[number]
        if callable(before) and before is not signal.default_int_handler:
            before(number, frame)  # whoever has started this run (a sweep) is to know it, too
        if not self.heeded:
            say(f"pacs train: {self.names[-1]}: stopped before the run was started", error=True)
            sys.exit(STOPPED)
