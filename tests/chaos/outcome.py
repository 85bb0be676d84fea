"""What came of a fault, held against what the run promises; the file of outcomes."""

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from pacs.runs.listing import list_runs
from pacs.runs.supervisor import FINISHED, STOPPED
from tests.chaos.faults import LIMIT_SECONDS, WHOLE_START, Draw
from tests.chaos.start import Broken
from tests.chaos.strike import End

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.jsonl")
#: What a run is made of.
PARTS = ("pacs", "configs", "requirements")
#: What does not hold, in a word or two.
HANG, SLOW, STATUS, CAUSE = "no end", "too late", "exit status", "cause"
PROCESSES, SEGMENTS, FILES = "processes left", "shared memory left", "temporary files left"
NOT_RESUMED, BY_ITSELF, WEIGHTS = "not resumed", "ended by itself", "other weights"


@dataclass
class Outcome:
    """One line of results.jsonl.

    Attributes:
        fault: its name, or what else was looked at (a run's end, a start that was not touched).
        moment: drawn.
        seed, index: what it was drawn from; -1 for what was not drawn.
        at: what the run was at, at the fault.
        seconds: from the fault to the end of `pacs train`; None if it went on, or did not end.
        cause: as state.json has it.
        status: of `pacs train`.
        resumed: the step that the next start went on from.
        problems: what did not hold -> the essence.
        load: of the machine, over the last minute, at the fault.
        log: the folder with the run's words, where something did not hold.
        about: date, commit, code (a hash of what is run), machine.
    """

    fault: str
    moment: str
    seed: int = -1
    index: int = -1
    at: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    cause: str | None = None
    status: int | None = None
    resumed: int | None = None
    problems: dict[str, str] = field(default_factory=dict)
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 1))
    log: str | None = None
    about: dict[str, str] = field(default_factory=dict)


def judge(draw: Draw, broken: Broken, end: End) -> dict[str, str]:
    """What did not hold of a fault, until the next start."""
    fault, status = draw.fault, broken.process.returncode
    limit, problems = LIMIT_SECONDS + fault.extra_seconds, {}
    cause = cause_of(broken, fault.next_clears)
    if not end.ended:
        problems[HANG] = f"still running {limit + LIMIT_SECONDS:.0f} s after the fault"
    elif end.went_on:
        # What hangs is missed only when it is asked for something: a fault then, late, and with its cause.
        if status not in (FINISHED, STOPPED) and not re.search(fault.cause, cause or ""):
            problems[STATUS] = f"{status} ({cause}), where it went on, and then was asked to stop"
    else:
        if end.seconds is not None and end.seconds > limit and draw.moment != WHOLE_START:
            problems[SLOW] = f"ended after {end.seconds:.0f} s, not within {limit:.0f} s"
        # A launcher that has not begun yet (there is no state) has nothing to clear up.
        early = broken.state() is None and status == -fault.number
        if fault.statuses and status not in fault.statuses and not early:
            problems[STATUS] = f"{status} instead of {' or '.join(map(str, fault.statuses))}"
        if not re.search(fault.cause, cause or "") and not early:
            problems[CAUSE] = str(cause)
    return problems | leavings(end.left, end.segments, end.files)


def cause_of(broken: Broken, next_clears: bool = False) -> str | None:
    """Why a start has ended: by state.json, or (where nobody can write that) by `pacs runs`; else its last words."""
    state = broken.state()
    if state is None:
        return _without_machine(" ".join(broken.start.console.split())[-300:], broken)
    if next_clears:
        (listed,) = list_runs([broken.run.folder])
        return None if listed.cause is None else _without_machine(listed.cause, broken)
    if state.cause is None:
        return f"state.json says that it is {state.state}"
    return _without_machine(state.cause, broken)


def _without_machine(text: str, broken: Broken) -> str:
    """A text in which the folders of this machine have names that any machine has."""
    for folder, name in ((broken.run.folder, "RUN"), (broken.place.folder, "TMP"), (ROOT, "CHECKOUT")):
        text = text.replace(str(folder), name)
    return text


def leavings(processes: Sequence[str], segments: Sequence[str], files: Sequence[str]) -> dict[str, str]:
    """The problems that processes, shared memory and temporary files are."""
    found = {PROCESSES: processes, SEGMENTS: segments, FILES: sorted(set(map(kind_of, files)))}
    return {problem: ", ".join(names) for problem, names in found.items() if names}


def kind_of(file: str) -> str:
    """A file's name without what is random in it."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{8}", "*", file)


def keep(outcome: Outcome, results: Path) -> None:
    """Add a line to the results."""
    outcome.about = about()
    with results.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(outcome)) + "\n")
    held = "held" if not outcome.problems else "; ".join(f"{what}: {how}" for what, how in outcome.problems.items())
    seconds = "" if outcome.seconds is None else f" after {outcome.seconds:.1f} s"
    print(f"{outcome.index:4d}  {outcome.fault}, {outcome.moment}{seconds} ({outcome.cause}): {held}", flush=True)


def read(results: Path) -> list[Outcome]:
    """All outcomes; a last line that was cut off is left out."""
    lines = results.read_text(encoding="utf-8").splitlines(keepends=True) if results.exists() else []
    return [Outcome(**json.loads(line)) for line in lines if line.endswith("\n")]


@cache
def about() -> dict[str, str]:
    """Of what code on what machine an outcome is."""
    commit, changed = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--", *PARTS))
    )
    memory = psutil.virtual_memory().total / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, no GPU"
    return {"commit": f"{commit} and changes" if changed else commit, "code": code(), "machine": machine}


@cache
def code() -> str:
    """A hash of what a run is made of."""
    files = [file for part in PARTS for file in sorted((ROOT / part).rglob("*"))]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
