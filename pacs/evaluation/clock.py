"""Seconds of wall-clock time that each task's samples took."""

import time
from collections import Counter
from pathlib import Path

from pacs.evaluation.folder import Timing, read_timing, write_timing

#: Between two writes; a start that is killed loses as much.
WRITE_SECONDS = 5.0


class Clock:
    """The time between two ticks goes to the tasks whose tokens came in it.

    Args:
        out: the evaluation's folder, where earlier starts have left their times.
        tasks: names.
    """

    def __init__(self, out: Path, tasks: list[str]) -> None:
        self._out = out
        self._timings = {task: read_timing(out, task) for task in tasks}
        self._tokens: Counter[str] = Counter()
        self._ticked = self._written = 0.0

    def start(self) -> None:
        """Count from now on."""
        self._ticked = self._written = time.monotonic()

    def sampled(self, task: str, tokens: int) -> None:
        """A sample has come."""
        self._tokens[task] += tokens

    def tick(self) -> None:
        """Attribute the time since the last one in which tokens had come; write, now and then."""
        now = time.monotonic()
        if total := self._tokens.total():
            for task, tokens in self._tokens.items():
                before, share = self._timings[task], tokens / total
                self._timings[task] = Timing(before.seconds + share * (now - self._ticked), before.tokens + tokens)
            self._tokens.clear()
            self._ticked = now
        if now - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write all times."""
        self._written = time.monotonic()
        for task, timing in self._timings.items():
            write_timing(self._out, task, timing)
