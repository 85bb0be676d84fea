"""Signals that ask for the end: the first is heeded at the next safe moment, a second at once."""

import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Self

from pacs.base.terminal import print

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)


class Stopped(Exception):
    """A signal has asked for the end; the message is its name."""


class StopRequest:
    """Whether a signal has asked for the end."""

    def __init__(self) -> None:
        self.signal: str | None = None

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Take note of signals; called again after something else (Ray) has set handlers of its own."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._note)

    def check(self) -> None:
        """Raise `Stopped` if one has come."""
        if self.signal is not None:
            raise Stopped(self.signal)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = signal.Signals(number).name
        print(f"\npacs evaluate: {self.signal}: stopping; a second signal ends it at once", file=sys.stderr, flush=True)
