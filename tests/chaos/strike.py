"""Break a start, and watch how it ends."""

import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pacs.runs.supervisor import STOPPED
from tests.chaos.faults import LIMIT_SECONDS, SAVE, Draw, Fault
from tests.chaos.finder import Process
from tests.chaos.start import MOMENT_SECONDS, Broken

#: So many bytes are left on the disk that fills up in a save, at most.
ROOM_BYTES = 2 * 2**20
#: A run that has done so many steps since a fault goes on in spite of it.
GOES_ON_STEPS = 2
#: A run that went on is then asked to stop, for which it has so long.
STOP_SECONDS = 240.0


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


def targets(broken: Broken, draw: Draw) -> list[Process]:
    """The processes that get the draw's signal; none as long as one of them is not there."""
    found = [broken.finder.with_title(title) for title in draw.fault.titles]
    return [some[int(draw.size * len(some))] for some in found] if all(found) else []


def strike(broken: Broken, draw: Draw, disk: Path) -> None:
    """Do what was drawn, now."""
    if draw.fault.kind == "signal":
        for process in targets(broken, draw):
            process.signal(draw.fault.number)
    elif draw.fault.kind == "signal all":
        for process in sorted(broken.finder.look(), key=lambda process: process.pid):
            process.signal(draw.fault.number)
    elif draw.fault.kind == "disk":
        room = int(draw.size * ROOM_BYTES) if draw.moment == SAVE else 0
        with suppress(OSError), (disk / "filler").open("wb") as filler:  # full before it is written, in a save
            for _ in range(max(0, shutil.disk_usage(disk).free - room) // 4096):
                filler.write(bytes(4096))


def watch_end(broken: Broken, draw: Draw) -> End:
    """Wait until the run has ended after its fault (or goes on); see what is left, and end that."""
    struck, fault, end = time.monotonic(), draw.fault, End()
    before = broken.progress()
    step = before.step if before else 0
    deadline = struck + 2 * LIMIT_SECONDS + fault.extra_seconds + (MOMENT_SECONDS if fault.may_go_on else 0)
    while not _has_ended(broken, fault):
        now, state = broken.progress(), broken.state()
        resumed = max(step, (state.resumed_from or 0) if state else 0)
        if (
            STOPPED not in fault.statuses
            and not end.went_on
            and now is not None
            and now.step >= resumed + GOES_ON_STEPS
        ):
            end.went_on, deadline = True, time.monotonic() + STOP_SECONDS
            broken.process.send_signal(signal.SIGTERM)
        if time.monotonic() > deadline:
            end.ended = False
            break
        time.sleep(0.05)
    end.went_on |= broken.process.poll() == 0
    if end.ended and not end.went_on and not fault.next_clears:
        end.seconds = time.monotonic() - struck
    if end.ended and not fault.next_clears:
        end.left = broken.left()
        end.segments, end.files = broken.place.segments(), broken.place.files(broken.token)
    elif not end.ended:
        broken.kill()
    else:
        broken.finder.freeze()
    return end


def _has_ended(broken: Broken, fault: Fault) -> bool:
    """Whether `pacs train` has ended; where it was killed itself, whether the run has been ended in its place."""
    if broken.process.poll() is None:
        return False
    if fault.statuses or fault.next_clears:
        return True
    state = broken.state()
    clearing = [process for process in broken.finder.look() if "pacs.runs.clearing" in process.title]
    return not clearing and (state is None or state.state != "running")
