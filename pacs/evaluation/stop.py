"""Signals that ask for the end: the first is heeded at the next safe moment, a second at once."""

import os
import sys
from types import FrameType

from pacs.base.stops import Stops
from pacs.base.terminal import print


class Stopped(Exception):
    """A signal has asked for the end; the message is its name."""


class StopRequest(Stops):
    """Whether a signal has asked for the end."""

    def check(self) -> None:
        """Raise `Stopped` if one has come."""
        if self.signals:
            raise Stopped(self.names[0])

    def note(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        if self.signals:
            os._exit(128 + number)
        super().note(number, frame)
        print(
            f"\npacs evaluate: {self.names[0]}: stopping; a second signal ends it at once", file=sys.stderr, flush=True
        )
