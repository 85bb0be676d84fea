"""What a run's processor time goes into."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

KINDS = ("sample", "update", "reference", "evaluate")


class Clock:
    """Adds up this process's processor seconds by what they are spent on; what is not measured is left out."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(KINDS, 0.0)
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        """Measure a part as one of `KINDS`; the part that it stands in does not count it, too."""
        self._add()
        self._running.append(kind)
        try:
            yield
        finally:
            self._add()
            self._running.pop()

    @property
    def training(self) -> float:
        """Seconds so far without evaluations."""
        return sum(seconds for kind, seconds in self.seconds.items() if kind != "evaluate")

    def _add(self) -> None:
        now = process_time()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
