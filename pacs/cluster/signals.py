"""How a node takes the signals that ask a run to stop."""

import signal
import sys
from types import FrameType
from typing import NoReturn

from pacs.base.stops import SIGNALS, Stops
from pacs.cluster.rendezvous import Rendezvous


class Noted(Stops):
    """The head's way once it waits: signals are noted, and with the meeting's notice passed on to the run."""

    def __init__(self, meeting: Rendezvous) -> None:
        super().__init__()
        self.meeting, self.notice_taken = meeting, False
        self.listen()

    def new(self) -> list[int]:
        """Those since the last call; the notice is one SIGUSR1."""
        noted, self.signals = self.signals, []
        if self.meeting.notice() and not self.notice_taken:
            self.notice_taken = True
            noted.append(signal.SIGUSR1)
        return noted


def exit_on_signals(*, head: bool) -> None:
    """A signal ends this node in good order; SIGUSR1 is the head's alone to heed."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit)
    signal.signal(signal.SIGUSR1, _exit if head else signal.SIG_IGN)


def ignore_signals() -> None:
    """While a node is cleared up, which nothing is to cut off."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
