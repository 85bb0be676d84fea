"""One start of a run that is broken at a drawn instant, and what comes of it."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pacs.checkpoints.folder import SAVING
from pacs.runs.state import Progress, RunState, read_progress, read_state
from tests.chaos.faults import (
    FIRST_TRANSFER,
    SAVE,
    START,
    STEP,
    TRANSFER,
    VALIDATION,
    WHOLE_START,
    Draw,
)
from tests.chaos.finder import Finder, Process
from tests.chaos.place import Place
from tests.integration.real_run import RealRun, Start

POLL_SECONDS = 0.005
#: A start that shows no sign of the drawn moment for so long hangs, or is too slow to be looked at.
MOMENT_SECONDS = 1200.0
#: Ray's title of the worker that sends the weights.
SENDER, SENDING = "ray::WorkerDict", b"update_weights"
#: How long it is looked whether what is left ends by itself.
LEFT_SECONDS = 20.0


@dataclass
class Times:
    """Seconds that a start-up and a step take on this machine now."""

    start: float = 60.0
    step: float = 3.0

    def within(self, moment: str) -> float:
        """The span after the beginning of a moment within which a fault is to come."""
        short = {FIRST_TRANSFER: 2.0, TRANSFER: 0.5, SAVE: 0.3, VALIDATION: 1.0, WHOLE_START: 0.0}
        return {START: self.start, STEP: 2 * self.step, **short}[moment]


class Broken:
    """A start of `pacs train`, watched from outside.

    Args:
        run: the run.
        place: its temporary folder and /dev/shm.
        cache: what is compiled for vLLM is kept there.
        overrides: of this start.
    """

    def __init__(self, run: RealRun, place: Place, cache: Path, *overrides: str) -> None:
        self.run, self.place = run, place
        self.token: str | None = None
        variables = {"TMPDIR": str(place.temporary), "TORCHINDUCTOR_CACHE_DIR": str(cache)}
        self.start = Start(run, [*place.prefix, *run.command, *overrides], variables, own_session=True)
        self.begun, self.trained = time.monotonic(), False
        self.process = self.start.process
        self.finder = Finder(self.process.pid, [run.folder, place.folder])
        self.finder.start()
        self.sender: Process | None = None

    def state(self) -> RunState | None:
        """state.json, if it is of this start."""
        state = read_state(self.run.folder)
        if state is None or state.pid != self.process.pid:
            return None
        self.token = state.token
        return state

    def progress(self) -> Progress | None:
        """progress.json, if it is of this start and training has begun."""
        progress = read_progress(self.run.folder) if self.state() is not None else None
        return None if progress is None or progress.phase == "start" else progress

    def sends_weights(self) -> bool:
        """Whether the training worker sends weights to vLLM now."""
        if self.sender is None:
            titled = [process for process, title in self.finder.titles.copy().items() if title.startswith(SENDER)]
            self.sender = titled[0] if titled else None
        if self.sender is None:
            return False
        with suppress(OSError):
            return SENDING in Path(f"/proc/{self.sender.pid}/cmdline").read_bytes()
        return False

    def saves(self) -> bool:
        """Whether a checkpoint is being written now."""
        return any((self.run.checkpoints / SAVING).glob("global_step_*"))

    def at(self, draw: Draw) -> bool:
        """Whether a draw's moment has come."""
        if draw.moment in (START, WHOLE_START):
            return True
        if draw.moment == FIRST_TRANSFER:
            return self.sends_weights()
        progress, state = self.progress(), self.state()
        if progress is None or state is None or progress.step < (state.resumed_from or 0) + draw.steps:
            return False
        return {
            STEP: lambda: True,
            TRANSFER: self.sends_weights,
            SAVE: self.saves,
            VALIDATION: lambda: progress.phase == "validate",
        }[draw.moment]()

    def lives_until(self, condition: Callable[[], object], tick: Callable[[], None], seconds: float) -> bool:
        """Wait until `condition` holds: False if the start ends before.

        Raises:
            TimeoutError: It lives on, and the condition does not come to hold within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            tick()
            if self.process.poll() is not None:
                return False
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(POLL_SECONDS)
        return True

    def left(self) -> list[str]:
        """What lives, and how long it goes on to; then it is ended."""
        began = time.monotonic()
        first = living = self.finder.living()
        while living and time.monotonic() < began + LEFT_SECONDS:
            time.sleep(0.1)
            living = self.finder.living()
        seconds = time.monotonic() - began
        stayed = (
            "" if not first else f" (ended {seconds:.0f} s later)" if not living else f" (still after {seconds:.0f} s)"
        )
        self.kill()
        return sorted(f"{self.finder.titles.get(process, '?')[:60].strip()} ({stayed})" for process in first)

    def left_of_former(self) -> list[str]:
        """What lives of this start though the next one has begun; it is ended."""
        deadline = time.monotonic() + LEFT_SECONDS
        while (living := self.finder.look()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in living:
            process.signal(signal.SIGKILL)
        return sorted(self.finder.titles.get(process, "?")[:60].strip() for process in living)

    def at_what(self) -> dict[str, object]:
        """What the start is at."""
        progress = self.progress()
        return {
            "seconds": round(time.monotonic() - self.begun, 1),
            "step": None if progress is None else progress.step,
            "phase": "start" if progress is None else progress.phase,
            "saves": self.saves(),
            "sends_weights": self.sends_weights(),
        }

    def kill(self) -> None:
        """End whatever belongs to this start."""
        deadline = time.monotonic() + 30
        while (living := self.finder.living()) and time.monotonic() < deadline:
            for process in living:
                process.signal(signal.SIGKILL)
            time.sleep(0.1)
        self.process.wait()

    def remove(self) -> None:
        """Leave nothing of this start."""
        # Of what only names the run's folder, some may be of the next start.
        while living := self.finder.look():
            for process in living:
                process.signal(signal.SIGKILL)
            time.sleep(0.1)
        self.process.wait()
        self.finder.stop()
        self.place.remove()
