"""A stage that waits for another to be recorded, for processes that import little."""

import time
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 60


class Waiting(NamedTuple):
    """A stage, and the file that it waits for; None: it is done at once."""

    stage: str
    recorded: Path | None


def run(job: Waiting) -> dict[str, Any]:
    """Its result."""
    until = time.monotonic() + SECONDS
    while job.recorded is not None and not job.recorded.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{job.recorded} is not there")
        time.sleep(0.05)
    return {"stage": job.stage}
