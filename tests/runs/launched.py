"""`supervised_process.py` at work, and what is left of it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pacs.base.stops import SIGNALS
from pacs.runs.leftovers import orphaned_segments, segments_there
from pacs.runs.processes import processes_of
from pacs.runs.state import RunState, read_progress, read_state


def heed_signals() -> None:
    """In a launcher that begins: what started these tests may ignore signals, as a job in the background does."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


class Launched:
    """`supervised_process.py` at work."""

    def __init__(
        self, run_dir: Path, what: str, *, grace: float = 0.3, env: Mapping[str, str] = os.environ, **options: object
    ) -> None:
        self.run_dir, self.before = run_dir, segments_there()
        command = [sys.executable, "-m", "tests.runs.supervised_process", str(run_dir), what]
        options |= {"env": {**env, "PACS_TEST_GRACE": str(grace)}}
        options.setdefault("preexec_fn", heed_signals)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)

    @property
    def state(self) -> RunState:
        """state.json."""
        state = read_state(self.run_dir)
        assert state is not None
        return state

    def wait_for(self, phase: str) -> None:
        self.until(lambda: (progress := read_progress(self.run_dir)) is not None and progress.phase == phase)

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def ended(self) -> tuple[int, str]:
        """Its exit status and what it printed; nothing of it is left."""
        printed, _ = self.process.communicate(timeout=60)
        self.nothing_left()
        return self.process.returncode, printed

    def nothing_left(self) -> None:
        state = self.state
        self.until(lambda: not processes_of(state.token) and not orphaned_segments(self.before))
        assert state.temporary is not None
        self.until(lambda: not Path(state.temporary).exists())
        assert state.state != "running" or self.process.returncode is None
