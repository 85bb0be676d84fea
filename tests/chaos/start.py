"""One start of a run that is broken at a drawn instant, and what comes of it."""

import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pacs.runs.checkpoints import SAVING
from pacs.runs.state import Progress, RunState, read_progress, read_state
from pacs.runs.supervisor import STOPPED
from tests.chaos.faults import (
    FIRST_TRANSFER,
    LIMIT_SECONDS,
    SAVE,
    START,
    STEP,
    TRANSFER,
    VALIDATION,
    WHOLE_START,
    Draw,
    Fault,
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
#: So many bytes are left on the disk that fills up in a save, at most.
ROOM_BYTES = 2 * 2**20
#: A run that has done so many steps since a fault goes on in spite of it.
GOES_ON_STEPS = 2
#: A run that went on is then asked to stop, for which it has so long.
STOP_SECONDS = 240.0


@dataclass
class Times:
    """Seconds that a start-up and a step take on this machine now."""

    start: float = 60.0
    step: float = 3.0

    def within(self, moment: str) -> float:
        """The span after the beginning of a moment within which a fault is to come."""
        short = {FIRST_TRANSFER: 2.0, TRANSFER: 0.5, SAVE: 0.3, VALIDATION: 1.0, WHOLE_START: 0.0}
        return {START: self.start, STEP: 2 * self.step, **short}[moment]


@dataclass
class End:
    """How a start that was broken has ended.

    Attributes:
        seconds: from the fault to the end; None if the run went on, or did not end.
        went_on: whether it trained on.
        ended: whether it ended, by itself or asked to.
        left: titles of the processes that were there after the end, and for how long they stayed.
        segments: names of shared memory that is left.
        files: names of temporary files that are left.
    """

    seconds: float | None = None
    went_on: bool = False
    ended: bool = True
    left: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


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

    def targets(self, draw: Draw) -> list[Process]:
        """The processes that get the draw's signal; none as long as one of them is not there."""
        found = [self.finder.with_title(title) for title in draw.fault.titles]
        return [some[int(draw.size * len(some))] for some in found] if all(found) else []

    def strike(self, draw: Draw, disk: Path) -> None:
        """Do what was drawn, now."""
        if draw.fault.kind == "signal":
            for process in self.targets(draw):
                process.signal(draw.fault.number)
        elif draw.fault.kind == "signal all":
            for process in sorted(self.finder.look(), key=lambda process: process.pid):
                process.signal(draw.fault.number)
        elif draw.fault.kind == "disk":
            room = int(draw.size * ROOM_BYTES) if draw.moment == SAVE else 0
            with suppress(OSError), (disk / "filler").open("wb") as filler:  # full before it is written, in a save
                for _ in range(max(0, shutil.disk_usage(disk).free - room) // 4096):
                    filler.write(bytes(4096))

    def watch_end(self, draw: Draw) -> End:
        """Wait until the run has ended after its fault (or goes on); see what is left, and end that."""
        struck, fault, end = time.monotonic(), draw.fault, End()
        before = self.progress()
        step = before.step if before else 0
        deadline = struck + 2 * LIMIT_SECONDS + fault.extra_seconds + (MOMENT_SECONDS if fault.may_go_on else 0)
        while not self.has_ended(fault):
            now, state = self.progress(), self.state()
            resumed = max(step, (state.resumed_from or 0) if state else 0)
            if (
                STOPPED not in fault.statuses
                and not end.went_on
                and now is not None
                and now.step >= resumed + GOES_ON_STEPS
            ):
                end.went_on, deadline = True, time.monotonic() + STOP_SECONDS
                self.process.send_signal(signal.SIGTERM)
            if time.monotonic() > deadline:
                end.ended = False
                break
            time.sleep(0.05)
        end.went_on |= self.process.poll() == 0
        if end.ended and not end.went_on:
            end.seconds = time.monotonic() - struck
        if end.ended and not fault.next_clears:
            end.left = self.left()
            end.segments, end.files = self.place.segments(), self.place.files(self.token)
        elif not end.ended:
            self.kill()
        return end

    def has_ended(self, fault: Fault) -> bool:
        """Whether `pacs train` has ended; where it was killed itself, whether all that belonged to it has."""
        if self.process.poll() is None:
            return False
        if fault.statuses:
            return True
        state = self.state()
        return not self.finder.look() and (fault.next_clears or state is None or state.state != "running")

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
