"""The signals by which a run is asked to end, as its launcher takes them."""

import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Self

from pacs.base.terminal import say
from pacs.runs.signals import SIGNALS

#: Of `pacs train`: EX_TEMPFAIL of sysexits.h.
STOPPED = 75


class StopRequests:
    """Takes note of signals, from its entry to its exit as a context.

    Until `heeded` is set nothing is running that would have to be saved, and a signal ends this process with 75.

    Attributes:
        names: of the signals, in their order.
        heeded: whether somebody looks at them.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.heeded = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in self.before.items():
            if handler is not signal.SIG_IGN:  # nohup ignores SIGHUP
                signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.names.append(signal.Signals(number).name)
        before = self.before[number]
        if callable(before) and before is not signal.default_int_handler:
            before(number, frame)  # whoever has started this run (a sweep) is to know it, too
        if not self.heeded:
            say(f"pacs train: {self.names[-1]}: stopped before the run was started", error=True)
            sys.exit(STOPPED)
