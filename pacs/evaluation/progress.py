"""How far an evaluation is, in one line."""

import sys
import time

from tqdm import tqdm

from pacs.evaluation.folder import Grade

#: Between two lines where they do not replace each other.
LOG_SECONDS = 30.0


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
