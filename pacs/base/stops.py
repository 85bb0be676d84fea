"""The signals that ask a command to end, taken note of."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

from pacs.base.terminal import say

SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP)
POLL_SECONDS = 0.2
#: Signals within this time of the first are one request: a service manager sends SIGTERM and SIGHUP, a `timeout` one to
#: its program and one to the group, and who has started the launcher may pass on what it has got itself.
ONE_REQUEST_SECONDS = 1.0


class Stops:
    """Takes note of the signals from its entry to its exit as a context, which has the handlers of before back.

    Attributes:
        signals: the numbers of those that have come, in their order.
        second: the first of them that was no part of the first request; None: there is none.
    """

    def __init__(self) -> None:
        self.signals: list[int] = []
        self.second: int | None = None
        self.asked = math.inf
        self.before: dict[int, Any] = {}
        self.told = 0

    @property
    def names(self) -> list[str]:
        """Of the signals, in their order."""
        return [signal.Signals(number).name for number in self.signals]

    def __enter__(self) -> Self:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Set the handlers: without the context for good, and again once something else (Ray) has set its own."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self.note)

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal has come; a class of its own may do more."""
        now = time.monotonic()
        self.asked = min(self.asked, now)
        if self.second is None and now > self.asked + ONE_REQUEST_SECONDS:
            self.second = number
        self.signals.append(number)

    def new(self) -> list[int]:
        """The signals that have come since the last call; a class of its own may know of more."""
        new = self.signals[self.told :]
        self.told += len(new)
        return new


def run_passing_on(command: Sequence[str], stop: Stops, **options: Any) -> int:
    """Run a command in a session of its own, which gets every signal that comes meanwhile, once.

    Args:
        command: the words of it.
        stop: takes note of the signals.
        options: of `subprocess.Popen`.

    Returns:
        Its exit status, -N where signal N ended it.
    """
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS)
            for number in stop.new():
                process.send_signal(number)
    finally:
        process.kill()  # if what goes on here has failed


@contextmanager
def ended_by_ctrl_c(command: str) -> Iterator[None]:
    """Within, Ctrl-C ends the process at once, with status 130: for what imports much and leaves nothing behind.

    An import that KeyboardInterrupt cuts off may swallow it, or fail later in a way of its own.

    Args:
        command: who says that it was interrupted.
    """

    def end(number: int, frame: FrameType | None) -> None:
        say(f"{command}: interrupted", error=True)
        os._exit(128 + number)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # somebody else's, or ignored
        yield
        return
    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does, so that a half-written folder is removed."""
    ending = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in ending:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)
