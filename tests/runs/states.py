"""States of runs as a launcher writes them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pacs.runs.state import RunState, state_of_start


def state_in(folder: Path, state: str = "running", *, token: str = "token", **more: Any) -> RunState:
    """The state of a start of this process in `folder`, which is there; `more`: fields that are otherwise."""
    started = state_of_start(folder, token, resumed_from=None, temporary=folder / "temporary")
    return replace(started, state=state, **more)
