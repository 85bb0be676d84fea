"""The signals by which a run is asked to end, as its launcher takes them."""

import signal
import sys
from types import FrameType

from pacs.base.stops import Stops
from pacs.base.terminal import say

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
