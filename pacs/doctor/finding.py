"""What a check says, and the processes that checks start."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """A check's answer.

    Attributes:
        state: `fail`: a run would not start, or would end; `warn`: it may, or is slower than it could be.
        found: what is here.
        mend: what to do; empty if all is well.
    """

    check: str
    state: State
    found: str
    mend: str = ""


def judged(check: str, found: str, *faults: tuple[bool, State, str]) -> Finding:
    """The finding by the first fault that is there.

    Args:
        check: its name.
        found: what is here.
        faults: of each whether it is there, the state then, and the mend.
    """
    return next(
        (Finding(check, state, found, mend) for there, state, mend in faults if there), Finding(check, "ok", found)
    )


def answer_of(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """What a command says and ends with.

    Raises:
        OSError: it cannot be started, or does not end in time.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(f"{Path(command[0]).name}: no answer in {seconds:.0f} s") from None


def last_line(text: str, otherwise: str) -> str:
    """The last line of what was said, or something else where nothing was."""
    return (text.strip().splitlines() or [otherwise])[-1]
