"""Signals that ask a sweep to end: heeded between two runs; in a run, or in an evaluation, that one is ended first."""

import signal
from types import FrameType, TracebackType
from typing import Self

from pacs.runs.signals import SIGNALS


class StopRequest:
    """The signals that have come.

    While a run trains, its launcher heeds them (the first ends it after its step, a second at once) and passes them on
    to here.
    """

    def __init__(self) -> None:
        self.signals: list[int] = []

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in self._before.items():
            if handler is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)
