"""How far an evaluation is, in one line, and the seconds of wall-clock time that each task's samples took."""

import sys
import time
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from pacs.evaluation.folder import Timing, read_timing, write_timing
from pacs.evaluation.sample import Grade

#: Between two lines where they do not replace each other.
LOG_SECONDS = 30.0
#: Between two writes of the times; a start that is killed loses as much.
WRITE_SECONDS = 5.0


class Progress:
    """Samples of all, tokens a second, the share that is right, the time left.

    Args:
        total: samples that there will be.
        done: that there are.
        right, graded: of those that were graded before.
    """

    def __init__(self, total: int, done: int, right: int, graded: int) -> None:
        interval = 0.5 if sys.stderr.isatty() else LOG_SECONDS
        self._bar = tqdm(total=total, initial=done, unit=" samples", mininterval=interval, smoothing=0.05)
        self._right, self._graded, self._tokens, self._started = right, graded, 0, time.monotonic()

    def sampled(self, tokens: int) -> None:
        """A sample has come."""
        self._tokens += tokens
        self._bar.update()

    def graded(self, grade: Grade) -> None:
        """A grade has come."""
        self._graded += 1
        self._right += grade.status == "correct"
        rate = self._tokens / (time.monotonic() - self._started)
        self._bar.set_postfix_str(f"{rate:,.0f} tokens/s, {self._right / self._graded:.1%} right", refresh=False)

    def close(self) -> None:
        """End the line."""
        self._bar.close()


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
